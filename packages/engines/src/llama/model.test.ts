import { expect, test } from "vitest";
import { unsupportedReason } from "./model.ts";

const plain = { slidingWindow: () => 0, isHybrid: () => false, isRecurrent: () => false, hasEncoder: () => false };

test.each([
  ["an ordinary decoder", plain, null],
  ["sliding-window attention", { ...plain, slidingWindow: () => 512 }, "sliding-window"],
  ["a hybrid", { ...plain, isHybrid: () => true, isRecurrent: () => true }, "hybrid"],
  ["a recurrent model", { ...plain, isRecurrent: () => true }, "recurrent"],
  ["an encoder", { ...plain, hasEncoder: () => true }, "encoder"],
])("%s", (_name, model, why) => {
  const reason = unsupportedReason(model, 0n);
  if (why === null) expect(reason).toBeNull();
  else expect(reason).toContain(why);
});

import type { z } from "zod";
import { GatewayError } from "./errors.ts";

/** The first fault of a body, as a 400 whose `param` is the path and whose message says what was expected there. */
export function toInvalidRequest(error: z.ZodError): GatewayError {
  const [issue] = error.issues;
  if (issue === undefined) return new GatewayError("invalid_request");
  const param = issue.path.map(String).join(".");
  return new GatewayError("invalid_request", {
    message: `${param === "" ? "body" : param}: ${issue.message}`,
    param: param || null,
  });
}

import { calibrate, QUICK } from "./calibrate.ts";
import { validateLlama } from "./validate-llama.ts";
const m = (process.argv[2] ?? "tiny5m") as "tiny5m";
const c = await calibrate(m, QUICK, null);
console.log(c.seconds, JSON.stringify(c.profile.step), JSON.stringify(c.served), JSON.stringify(c.profile.transfer));
const v = await validateLlama(m, null, Number(process.argv[4] ?? 2), 12, Number(process.argv[3] ?? 0.15));
console.log(JSON.stringify(v, null, 1));

import type { FastifyInstance } from "fastify";
import type { ReloadReport } from "../config/reload.ts";
import { GatewayError } from "../errors.ts";

/** `POST /admin/reload`: reads the configuration file again, as SIGHUP does, and says what came of it. */
export function reloadRoutes(app: FastifyInstance, reload: (() => ReloadReport) | undefined): void {
  app.post("/admin/reload", { config: { access: "admin" } }, () => {
    if (reload === undefined)
      throw new GatewayError("not_found", { message: "there is no configuration file: start with topas serve --config FILE" });
    return reload();
  });
}

/** What the operator may change while calls wait and run; every reading is a fresh one. */
export interface LoopSettings {
  /** Waiting calls beyond this are refused with 429. */
  readonly queueLimit: number;
  /** A call that waited this long ends with 429 `queue_timeout`. */
  readonly queueDeadlineSeconds: number;
  /** Times the engine may take a call's memory before the call fails with 503 `retraction_limit` (K14). */
  readonly maxRetractions: number;
  /** A task without an open call and without a word for this long is forgotten, and with it all it stood for. */
  readonly taskIdleSeconds: number;
  /** Work in hand and nothing moving for this long: `/ready` turns 503 (K21). */
  readonly stallSeconds: number;
}

export const loopDefaults: LoopSettings = {
  queueLimit: 1024,
  queueDeadlineSeconds: 600,
  maxRetractions: 16,
  taskIdleSeconds: 600,
  stallSeconds: 30,
};

/** `base` with every setting that `changes` names. */
export function withSettings(base: LoopSettings, changes: Partial<LoopSettings>): LoopSettings {
  return {
    queueLimit: changes.queueLimit ?? base.queueLimit,
    queueDeadlineSeconds: changes.queueDeadlineSeconds ?? base.queueDeadlineSeconds,
    maxRetractions: changes.maxRetractions ?? base.maxRetractions,
    taskIdleSeconds: changes.taskIdleSeconds ?? base.taskIdleSeconds,
    stallSeconds: changes.stallSeconds ?? base.stallSeconds,
  };
}

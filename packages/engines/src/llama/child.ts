/** Entry of the child process: the message pump around the step loop. It dies with its parent and never outlives a fatal error. */
import { EngineError } from "../engine.ts";
import { StepLoop } from "./loop.ts";
import type { OpenModel } from "./model.ts";
import { closeModel, openModel } from "./model.ts";
import type { Envelope, OpenOptions, ReadyMessage, ToChild } from "./protocol.ts";
import { Vocabulary } from "./text.ts";
import { measureSpeeds } from "./warm-up.ts";

interface Running {
  readonly open: OpenModel;
  readonly vocabulary: Vocabulary;
  readonly loop: StepLoop;
}
let running: Running | null = null;

function send(envelope: Envelope): void {
  if (process.connected) process.send?.(envelope);
}

/** Reports, then dies: the parent restarts us with an empty cache. */
function fatal(message: string): void {
  if (!process.connected) process.exit(1);
  process.send?.([{ ev: "fatal", message }], () => process.exit(1));
}

async function open(options: OpenOptions): Promise<void> {
  try {
    const model = await openModel(options);
    const vocabulary = new Vocabulary(model);
    const speeds = measureSpeeds(model);
    const loop = new StepLoop(model, vocabulary, options, send, fatal);
    running = { open: model, vocabulary, loop };
    send([describe(model, vocabulary, speeds)]);
  } catch (error) {
    const code = EngineError.isInstance(error) ? error.code : "engine_open_failed";
    send([{ ev: "openFailed", code, message: error instanceof Error ? error.message : String(error) }]);
  }
}

function describe(open: OpenModel, vocabulary: Vocabulary, speeds: ReadyMessage["speeds"]): ReadyMessage {
  const { llama, model } = open;
  const pieces = vocabulary.controlPieces();
  const place = llama.place;
  return {
    ev: "ready",
    budgetTokens: open.cells,
    contextTokens: open.contextTokens,
    kvBytesPerToken: open.kvBytesPerToken,
    sequences: open.sequences,
    version: llama.version(),
    system: llama.systemInfo().trim(),
    package: `${place.packageName}@${place.packageVersion}`,
    modelName: llama.meta(model, "general.name"),
    modelDescription: llama.meta(model, "general.description"),
    template: llama.chatTemplate(model),
    bosPiece: pieces.bos,
    eosPiece: pieces.eos,
    addsBos: vocabulary.addsBos,
    speeds,
  };
}

function receive(message: ToChild): void {
  if (message.op === "open") return void open(message.options);
  if (message.op === "close") return void close();
  if (message.op === "ping") return send([{ ev: "pong", seq: message.seq, stepMs: running?.loop.stepMs ?? 0 }]);
  if (running === null) return fatal(`${message.op} before open`);
  if (message.op === "tokenize") {
    // Reads the vocabulary only: safe beside a step in flight.
    const tokens = running.vocabulary.tokenize(message.text, message.special, message.bos);
    return send([{ ev: "tokenized", seq: message.seq, tokens }]);
  }
  running.loop.enqueue(message);
}

async function close(): Promise<void> {
  if (running !== null) {
    await running.loop.close();
    closeModel(running.open);
  }
  process.exit(0);
}

process.on("message", receive);
process.on("disconnect", () => process.exit(0));
process.on("uncaughtException", (error) => fatal(error.stack ?? error.message));

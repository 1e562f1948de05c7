/** What the examples share: the gateway's address, and a look at what it saw. */
export const baseURL = process.env["TOPAS_URL"] ?? "http://127.0.0.1:8900/v1";

const ids: string[] = [];

/** `fetch` that notes the gateway's id of every call. */
export const noting: typeof fetch = async (input, init) => {
  const answer = await fetch(input, init);
  const id = answer.headers.get("x-topas-request-id");
  if (id !== null) ids.push(id);
  return answer;
};

/** Prints what the gateway saw of each call, and tells it that the task is over. */
export async function report(taskId: string): Promise<void> {
  for (const id of ids.splice(0)) {
    const answer = await fetch(`${baseURL}/explain/${id}`);
    const seen = (await answer.json()) as Record<"task" | "stage" | "agent" | "status" | "cachedTokens" | "needTokens", unknown>;
    console.log(`task ${plain(seen.task)} stage ${plain(seen.stage)} agent ${plain(seen.agent)}:`, seen.status);
  }
  const finish = await fetch(`${baseURL}/tasks/${encodeURIComponent(taskId)}/finish`, { method: "POST" });
  console.log("finish", finish.status, await finish.text());
}

/** The gateway writes tenant and name as `7:default,5:write,`. */
function plain(id: unknown): string {
  return /^\d+:.*?,\d+:(.*),$/.exec(String(id))?.[1] ?? String(id);
}

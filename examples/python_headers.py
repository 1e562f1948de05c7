"""Any Python framework: three fixed headers. Standard library alone. python3 examples/python_headers.py"""
import json, os, urllib.request

BASE = os.environ.get("TOPAS_URL", "http://127.0.0.1:8900/v1")
TASK = f"python-{os.getpid()}"

def post(path, body, **headers):
    headers = {"content-type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}}
    request = urllib.request.Request(BASE + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer), answer.headers.get("x-topas-request-id")

for stage, agent, system in [("plan", "planner", "You are a planner."), ("write", "writer", "You are a writer.")]:
    body = {"model": "default", "max_tokens": 16, "messages": [{"role": "system", "content": system}, {"role": "user", "content": "Go."}]}
    answer, call = post("/chat/completions", body, x_topas_task=TASK, x_topas_stage=stage, x_topas_agent=agent)
    with urllib.request.urlopen(f"{BASE}/explain/{call}") as seen:
        print({k: v for k, v in json.load(seen).items() if k in ("task", "stage", "agent", "status")})
print(post(f"/tasks/{TASK}/finish", {"outcome": "done"})[0])

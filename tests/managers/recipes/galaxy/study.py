import time

import requests


def call(path, key, method="get", **data):
    url = f"http://127.0.0.1:18080/api{path}"
    answer = requests.request(method, url, headers={"x-api-key": key}, json=data)
    answer.raise_for_status()
    return answer.json()


me = call("/users", "key", "post", username="me", email="me@example.org", password="as you like")
key = call(f"/users/{me['id']}/api_key", "key", "post")
history = call("/histories", key, "post", name="study")["id"]
made = call("/tools", key, "post", tool_id="make", history_id=history, inputs={})
after = {"src": "hda", "id": made["outputs"][0]["id"]}
used = call("/tools", key, "post", tool_id="use", history_id=history, inputs={"after": after})
tasks = [made["jobs"][0]["id"], used["jobs"][0]["id"]]
while True:
    jobs = [call(f"/jobs/{task}?full=true", key) for task in tasks]
    if not {job["state"] for job in jobs} & {"new", "queued", "running", "waiting"}:
        break
    time.sleep(1)
for job in jobs:
    print(job["tool_id"], job["state"], job["exit_code"])

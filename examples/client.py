"""A client of alds: creates a project, queries it, and receives a change by webhook.

    python3 client.py

ALDS_URL is the URL of the service, ALDS_USER and ALDS_PASSWORD are the login. If
ALDS_TOKEN is set, this access token is used instead of the login. The program needs
Python 3.9 and the package requests.
"""

import base64
import hashlib
import hmac
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import requests

URL = os.environ.get("ALDS_URL", "http://127.0.0.1:8080/alds")
PATIENCE = 60  # seconds to wait for the event
TOLERANCE = 300  # maximum difference between the time of a delivery and our clock, in seconds
LARGEST = 16 << 20  # maximum size of a delivery in bytes

session = requests.Session()
session.headers["Accept"] = "application/json"
if token := os.environ.get("ALDS_TOKEN"):
    session.headers["Authorization"] = f"Bearer {token}"
else:
    user, password = os.environ.get("ALDS_USER", "admin"), os.environ.get("ALDS_PASSWORD", "admin")
    session.auth = (user.encode(), password.encode())


def post(path, body=None):
    answer = session.post(f"{URL}/{path}", json=body, timeout=30)
    if answer.status_code != 200:
        raise RuntimeError(f"{path}: {answer.status_code} {answer.text}")
    return answer


def write(command):
    """Sends one command. If a part of it fails, the service changes nothing and answers with status 200."""
    answer = post("api/asset?atomic=true", command).json()
    for failed in answer["commandFailures"]["commands"]:
        raise RuntimeError(failed["error"]["message"])
    return answer


def create_project():
    """Creates a project. Assets nested in it are created with it, and are related to it."""
    answer = write({
        "AssetType": "Scope", "Name": "Web shop", "Parent": "Scope:0", "BeginDate": "2026-01-01",
        "Workitems": [
            {"AssetType": "Story", "Name": "Browse the catalogue", "Estimate": 3},
            {"AssetType": "Story", "Name": "Gift wrap", "Estimate": 1},
            {"AssetType": "Story", "Name": "Pay by card", "Estimate": 8, "Children": [
                {"AssetType": "Task", "Name": "Choose a provider"},
                {"AssetType": "Task", "Name": "Send the receipt"}]}]})
    created = answer["assetsCreated"]["oidTokens"]  # in the order of the request
    print(f"created {created[0]} and {len(created) - 1} assets in it")
    return created[0]


def show_stories(project):
    answer = post("query.v1", {
        "from": "Story", "where": {"Scope": project}, "sort": ["-Estimate"],
        "select": ["Name", "Estimate", {"from": "Children:Task", "select": ["Name"]}]})
    for story in answer.json()[0]:  # the answer has a list of rows for each query
        tasks = ", ".join(task["Name"] for task in story["Children:Task"]) or "no tasks"
        print(f"{story['_oid']} {story['Name']}, estimate {story['Estimate']}: {tasks}")


def show_pages(project):
    """Reads the stories page by page. A cursor repeats or skips no story if other stories are created meanwhile."""
    after = ""
    while after is not None:
        answer = post("query.v1", {
            "from": "Story", "where": {"Scope": project}, "select": ["Name"], "sort": ["Name"],
            "page": {"size": 2, "after": after}})
        print("page: " + ", ".join(story["Name"] for story in answer.json()[0]))
        after = json.loads(answer.headers["Alds-Result"])[0]["next"]  # None after the last page


def is_genuine(secret, headers, body):
    """Returns whether the sender of the body knows the secret and sent the body recently."""
    delivery, sent = headers.get("Webhook-Id", ""), headers.get("Webhook-Timestamp", "")
    if not sent.isdecimal() or abs(time.time() - int(sent)) > TOLERANCE:
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = hmac.digest(key, f"{delivery}.{sent}.".encode() + body, hashlib.sha256)
    expected = b"v1," + base64.b64encode(digest)
    signatures = headers.get("Webhook-Signature", "").encode().split()  # there are two while a secret is being replaced
    return any(hmac.compare_digest(expected, signature) for signature in signatures)


class Receiver(BaseHTTPRequestHandler):
    timeout = 10  # seconds until a connection that sends nothing is closed

    def do_POST(self):
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length) if 0 <= length <= LARGEST else b""
        genuine = is_genuine(self.server.secret, self.headers, body)
        self.send_response(204 if genuine else 401)
        self.end_headers()
        if genuine:
            self.server.events += json.loads(body)["events"]

    def log_message(self, *_):
        """Logs nothing."""


def follow_change(project):
    with HTTPServer(("127.0.0.1", 0), Receiver) as listener:  # 0: any free port
        hook = post("api/webhook", {
            "webhookId": "example", "url": f"http://127.0.0.1:{listener.server_port}", "secret": "generate",
            "eventTypes": [{
                "type": "AssetChanged", "from": "Story", "attributes": ["Status", "Estimate"],
                "filter": ["Scope=$Project"], "with": {"$Project": project},
                "select": ["Name", "Status.Name"]}]}).json()
        listener.secret, listener.events = hook["secret"], []  # only this answer of the service shows the secret
        try:
            write({"from": "Story", "where": {"Scope": project, "Name": "Pay by card"},
                   "update": {"Status": "In Progress", "Estimate": 5}})
            deadline = time.monotonic() + PATIENCE
            while not listener.events:
                listener.timeout = deadline - time.monotonic()
                if listener.timeout <= 0:
                    raise RuntimeError("no event came")
                listener.handle_request()
            for event in listener.events:
                show_event(event)
        finally:
            post(f"api/webhook/delete/{hook['id']}")
            print("subscription deleted")


def show_event(event):
    story = event["snapshot"][0]  # the story as it was after the change
    print(f"{story['_oid']} {story['Name']} is {story['Status.Name']}, by {event['instigator']['name']}")
    for change in event["changes"]:
        print(f"  {change['name']}: {shown(change.get('old'))} -> {shown(change.get('new'))}")


def shown(value):
    if isinstance(value, dict):
        return value["_oid"]
    return "nothing" if value is None else value


if __name__ == "__main__":
    try:
        project = create_project()
        show_stories(project)
        show_pages(project)
        follow_change(project)
    except (RuntimeError, requests.RequestException) as problem:
        sys.exit(str(problem))

"""Sends bytes with requests: what is 401 is sent again with credentials."""
import sys

import requests

user, password, targets = sys.argv[1], sys.argv[2], sys.argv[3:]
for target in targets:
    url, size = target.split(",")
    body = b"x" * int(size)
    answer = requests.post(url, data=body)
    if answer.status_code == 401:
        answer = requests.post(url, data=body, auth=(user, password))
    print(size, answer.status_code)

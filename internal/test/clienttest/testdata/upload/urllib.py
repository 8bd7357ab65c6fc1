"""Sends bytes with the standard library, which sends credentials after a 401."""
import sys
import urllib.error
import urllib.request

user, password, targets = sys.argv[1], sys.argv[2], sys.argv[3:]
for target in targets:
    url, size = target.split(",")
    passwords = urllib.request.HTTPPasswordMgrWithDefaultRealm()
    passwords.add_password(None, url, user, password)
    opener = urllib.request.build_opener(urllib.request.HTTPBasicAuthHandler(passwords))
    request = urllib.request.Request(url, data=b"x" * int(size), headers={"Content-Type": "application/octet-stream"})
    try:
        status = opener.open(request).status
    except urllib.error.HTTPError as e:
        status = e.code
    print(size, status)

"""A client of the XML forms that knows nothing of the service but their description.

    python3 client.py BASE USER PASSWORD

It does what existing clients in this language do: no Accept, its password only after a
challenge, bodies as text/xml;charset=UTF-8, full names of attributes, and an empty
Relation to clear whatever it is. It prints a line for each step, and ends with status 1
at the first answer that is not as described.
"""

import json
import sys
import urllib.error
import urllib.request
import xml.etree.ElementTree as ET
from urllib.parse import urlencode, urlsplit

ODD = "Größe & <b>\"Maß\"</b> 'für' ]]> 𝄞🚀\nnext line\tbehind a tab"
DATA = "/rest-1.v1/Data"


class Mismatch(Exception):
    """An answer that is not as described."""


def expect(what, got, want):
    if got != want:
        raise Mismatch(f"{what}: {got!r}, not {want!r}")


class Service:
    def __init__(self, base, user, password):
        self.base, self.instance = base, urlsplit(base).path
        passwords = urllib.request.HTTPPasswordMgrWithDefaultRealm()
        passwords.add_password(None, base, user, password)
        self.opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPBasicAuthHandler(passwords))

    def request(self, path, body=None, **headers):
        """Status, Content-Type and bytes of an answer; a body is posted."""
        request = urllib.request.Request(self.base + path, data=body, headers=headers)
        try:
            with self.opener.open(request, timeout=60) as answer:
                return answer.status, answer.headers["Content-Type"], answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers["Content-Type"], error.read()

    def xml(self, path, root, body=None, status=200):
        """The root of an answer."""
        headers = {} if body is None else {"Content-Type": "text/xml;charset=UTF-8"}
        got, kind, text = self.request(path, body, **headers)
        expect(f"status and type of {path}, {text[:500]!r}", (got, kind), (status, "text/xml; charset=utf-8"))
        answer = ET.fromstring(text)
        expect(f"root of {path}", answer.tag, root)
        return answer

    def refused(self, path, status, body=None):
        """The message of an error."""
        error = self.xml(path, "Error", body, status)
        expect("what an error has", [e.tag for e in children(error)], ["Message", "Exception"])
        expect("the place of an error", error.get("href", "").startswith(self.instance), True)
        expect("a class of exceptions", bool(error.find("Exception").get("class")), True)
        messages = [m.text for m in error.iter("Message")]
        expect("messages", (len(messages), all(messages)), (2, True))
        return messages[-1]

    def save(self, path, *changes):
        """Creates or updates; the id and the moment."""
        asset = self.xml(path, "Asset", body(*changes))
        expect("parts of an id", len(asset.get("id").split(":")), 3)
        kind, number, moment = asset.get("id").split(":")
        expect("href", asset.get("href"), f"{self.instance}{DATA}/{kind}/{number}/{moment}")
        expect("what was sent", sorted(values(asset)), sorted(c.get("name") for c in changes))
        expect("act in an answer", [e.tag for e in asset.iter() if "act" in e.attrib], [])
        return number, moment


def change(tag, name, act="set", value=None):
    """An element that sets, adds or removes; without a value it clears."""
    e = ET.Element(tag, {"name": name})
    if act == "set":
        e.set("act", act)
    if tag == "Relation" and value:
        related = ET.SubElement(e, "Asset", idref=value)
        if act != "set":
            related.set("act", act)
    elif act == "set":
        e.text = value
    else:
        ET.SubElement(e, "Value", act=act).text = value
    return e


def scalar(name, text):
    return change("Attribute", name, value=text)


def relation(name, idref):
    return change("Relation", name, value=idref)


def body(*changes):
    asset = ET.Element("Asset")
    asset.extend(changes)
    return ET.tostring(asset, encoding="utf-8")


def children(parent):
    """The elements below one, between which there is no text."""
    expect(f"text in {parent.tag}", [t for t in [parent.text, *(c.tail for c in parent)] if t], [])
    return list(parent)


def values(asset):
    """The values of an asset by name: a text, None, or a list of texts or idrefs."""
    found = {}
    for e in children(asset):
        if e.tag == "Relation":
            found[e.get("name")] = [related.get("idref") for related in children(e)]
        else:
            expect("an element of an asset", e.tag, "Attribute")
            found[e.get("name")] = [v.text for v in children(e)] if len(e) else e.text
    return found


def expect_values(asset, want):
    got = values(asset)
    expect("values of " + asset.get("id"), {name: got.get(name, "missing") for name in want}, want)


def expect_moments(idrefs):
    expect(f"parts of {idrefs}", {len(idref.split(":")) for idref in idrefs}, {3})


def versioned(root):
    expect("a version of four numbers", [p.isdigit() for p in root.get("version").split(".")], [True] * 4)
    return root


def boolean(e, name):
    expect(f"{name} is True or False", e.get(name) in ("True", "False"), True)
    return e.get(name) == "True"


def metadata(s):
    types = children(versioned(s.xml("/meta.v1", "Meta")))
    attributes = [a for t in types for a in children(t) if a.tag == "AttributeDefinition"]
    for a in attributes:
        for name in ("isreadonly", "isrequired", "ismultivalue", "iscanned", "iscustom"):
            boolean(a, name)
        expect(a.get("token"), a.find("RelatedAsset") is not None, a.get("attributetype") == "Relation")
    yield f"metadata: {len(types)} types, {len(attributes)} attributes"

    place = s.instance + "/meta.v1/"
    story = versioned(s.xml("/meta.v1/Story", "AssetType"))
    expect("Story", {name: story.get(name) for name in ("href", "name", "token", "displayname", "abstract")},
           {"href": place + "Story", "name": "Story", "token": "Story", "displayname": "AssetType'Story", "abstract": "False"})
    expect("its base", story.find("Base").attrib, {"nameref": "PrimaryWorkitem", "href": place + "PrimaryWorkitem"})
    expect("its order", story.find("DefaultOrderBy").get("tokenref"), "Story.Order")
    yield f"metadata of Story: {len(children(story))} elements"

    owners = versioned(s.xml("/meta.v1/Story/Owners", "AttributeDefinition"))
    expect("Owners", (owners.get("of"), owners.get("token"), boolean(owners, "ismultivalue")), (place + "Story", "Story.Owners", True))
    expect("where they lead", [e.get("tokenref") or e.get("nameref") for e in children(owners)][:3],
           ["Workitem.Owners", "Member.OwnedWorkitems", "Member"])
    expect("a count", versioned(s.xml("/meta.v1/Story/Owners.@Count", "AttributeDefinition")).get("attributetype"), "Numeric")
    delete = versioned(s.xml("/meta.v1/Story/Delete", "Operation"))
    expect("Delete", (delete.get("of"), delete.get("name")), (place + "Story", "Delete"))
    expect("when it may run", delete.find("Validator").get("tokenref"), "Story.IsDeletable")
    yield "metadata of an attribute, a count and an operation"
    yield "unknown attribute: 404 " + s.refused("/meta.v1/Story/Nothing", 404)
    yield "name in another case: 404 " + s.refused("/meta.v1/Story/owners", 404)

    settings = {e.get("key"): e.get("value") for e in children(versioned(s.xml("/config.v1/", "Configuration")))}
    expect("a level", settings["StoryTrackingLevel"] in ("On", "Off", "Mix"), True)
    yield f"configuration: {len(settings)} settings, attachments up to {int(settings['MaximumAttachmentSize'])} bytes"


def assets(s):
    template = s.xml("/rest-1.v1/New/Story?ctx=Scope:0", "Asset")
    expect("a template", (template.get("id"), template.get("href")), (None, s.instance + "/rest-1.v1/New/Story"))
    expect("its project", (template.find("Relation[@name='Scope']").get("act"), values(template)["Scope"]), ("set", ["Scope:0"]))
    yield "template of a story"

    scope = "Scope:" + s.save(f"{DATA}/Scope", scalar("Name", "Project of a program"), scalar("BeginDate", "2026-01-01"),
                              relation("Parent", "Scope:0"))[0]
    priority = children(s.xml(f"{DATA}/WorkitemPriority?sel=", "Assets"))[0].get("id")
    story, first = s.save(
        f"{DATA}/Story", scalar("Name", ODD), scalar("Description", " <p>1 &amp; 2</p> "), scalar("Estimate", "2.5"),
        relation("Scope", scope), relation("Priority", priority),
        change("Relation", "Owners", "add", "Member:20"), change("Attribute", "TaggedWith", "add", "a <tag> & more"))
    yield f"created Story:{story}:{first}"

    path = f"{DATA}/Story/{story}"
    asset = s.xml(path, "Asset")
    expect("an asset", (asset.get("id"), asset.get("href")), (f"Story:{story}", s.instance + path))
    expect_values(asset, {
        "Name": ODD, "Description": " <p>1 &amp; 2</p> ", "Estimate": "2.5", "AssetState": "64", "Scope": [scope], "Priority": [priority],
        "Owners": ["Member:20"], "TaggedWith": ["a <tag> & more"], "Scope.Name": "Project of a program", "Parent": []})
    one = s.xml(path + "/Owners", "Relation")
    expect("one attribute", one.attrib, {"name": "Owners", "href": s.instance + path + "/Owners", "of": s.instance + path})
    yield f"read {len(asset)} values"

    second = s.save(path, scalar("Name", "Plain"), scalar("Description", None), relation("Estimate", None),
                    change("Relation", "Owners", "remove", "Member:20"), change("Attribute", "TaggedWith", "add", "b"))[1]
    query = urlencode({"sel": "Story.Name,Story.Description,Story.Estimate,Story.Owners,Story.TaggedWith", "where": f"Moment='{second}'"})
    expect_values(s.xml(f"{path}?{query}", "Asset"),
                  {"Name": "Plain", "Description": None, "Estimate": None, "Owners": [], "Owners.Name": None, "TaggedWith": ["a <tag> & more", "b"]})
    yield f"updated to moment {second}"

    versions = children(s.xml(f"/rest-1.v1/Hist/Story/{story}?sel=Name,Scope", "History"))
    expect("versions", [v.get("id") for v in versions], [f"Story:{story}:{first}", f"Story:{story}:{second}"])
    expect("place of a version", versions[0].get("href"), f"{s.instance}{path}/{first}")
    expect_values(versions[0], {"Name": ODD})
    version = s.xml(f"{path}/{first}?sel=Name,Owners", "Asset")
    expect("a version", (version.get("id"), values(version)["Name"]), (f"Story:{story}:{first}", ODD))
    expect_moments(values(versions[0])["Scope"] + values(version)["Owners"])
    expect_moments([e.get("idref") for e in children(s.xml(f"{path}/{first}/Priority", "Relation"))])
    yield f"history: {len(versions)} versions"
    yield from ranks(s, path, scope)
    yield from attachment(s, f"Story:{story}")
    yield from operations(s, path)


def ranks(s, story, scope):
    rank = int(s.xml(f"{story}/Order", "Attribute").text)
    expect("a rank has 32 bits", 0 < rank < 1 << 31, True)
    order = [story]
    for place, sign in (1, "+"), (0, "-"):
        other = f"{DATA}/Story/" + s.save(f"{DATA}/Story", scalar("Name", sign), relation("Scope", scope))[0]
        s.save(other, scalar("Order", f"{rank}{sign}"))
        order.insert(place, other)
    query = urlencode({"sel": "", "where": f"Story.Scope='{scope}'", "sort": "Story.Order"})
    expect("the order", [a.get("href") for a in children(s.xml(f"{DATA}/Story?{query}", "Assets"))], [s.instance + o for o in order])
    page = s.xml(f"{DATA}/Story?{query}&page=2,1", "Assets")
    expect("a page", page.attrib, {"total": "3", "pageSize": "2", "pageStart": "1"})
    expect("its assets", [a.get("href") for a in children(page)], [s.instance + o for o in order[1:]])
    yield f"ranked around {rank}, and read a page"


def attachment(s, asset):
    number, _ = s.save(f"{DATA}/Attachment", scalar("Name", "Bytes"), scalar("Filename", "bytes.bin"),
                       scalar("ContentType", "application/x-bytes"), scalar("Content", ""), relation("Asset", asset))
    path, content = f"/attachment.v1/{number}", bytes(range(256)) * 16
    expect("content is taken", s.request(path, content, **{"Content-Type": "application/x-bytes"})[0], 200)
    expect("content", s.request(path), (200, "application/x-bytes", content))
    yield f"attached {len(content)} bytes"


def operations(s, path):
    for operation, state in ("Inactivate", "128"), ("Reactivate", "64"), ("Delete", None):
        asset = s.xml(f"{path}?op={operation}", "Asset", b"")
        expect(f"answer to {operation}", (asset.get("id").split(":")[:2], len(asset), asset.text), (path.split("/")[-2:], 0, None))
        if state:
            expect(f"state after {operation}", s.xml(f"{path}/AssetState", "Attribute").text, state)
    yield "executed; deleted: 404 " + s.refused(path, 404)


def refusals(s, user):
    yield "no such asset: 404 " + s.refused(f"{DATA}/Story/999999999", 404)
    yield "no such attribute: 400 " + s.refused(f"{DATA}/Story", 400, body(scalar("Nothing", "x")))
    expect("a wrong password", Service(s.base, user, "wrong").request(f"{DATA}/Story")[0], 401)
    yield "wrong password: 401"
    status, kind, text = s.request(f"{DATA}/Member/20?sel=Name", Accept="application/json")
    expect("JSON", (status, kind.split(";")[0], json.loads(text)["id"]), (200, "application/json", "Member:20"))
    yield "JSON where Accept names it"


def main(base, user, password):
    s = Service(base, user, password)
    for steps in metadata(s), assets(s), refusals(s, user):
        for line in steps:
            print(line, flush=True)
    print("done")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Mismatch as mismatch:
        sys.exit(f"not as described: {mismatch}")

// A client of alds: creates a project, queries it, and receives a change by webhook.
//
//     node client.mjs
//
// ALDS_URL is the URL of the service, ALDS_USER and ALDS_PASSWORD are the login. If
// ALDS_TOKEN is set, this access token is used instead of the login. The program needs
// Node.js 18 and no packages.

import { createHmac, timingSafeEqual } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { createServer } from "node:http";

const {
  ALDS_URL: url = "http://127.0.0.1:8080/alds",
  ALDS_USER: user = "admin",
  ALDS_PASSWORD: password = "admin",
  ALDS_TOKEN: token,
} = process.env;
const authorization = token ? `Bearer ${token}` : `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;

const patience = 60_000; // milliseconds to wait for the event
const tolerance = 300; // maximum difference between the time of a delivery and our clock, in seconds
const largest = 16 << 20; // maximum size of a delivery in bytes

async function post(path, body) {
  const answer = await fetch(`${url}/${path}`, {
    method: "POST",
    headers: { Authorization: authorization, Accept: "application/json", "Content-Type": "application/json" },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(30_000),
  });
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return { headers: answer.headers, body: await answer.json() };
}

// Sends one command. If a part of it fails, the service changes nothing and answers with status 200.
async function write(command) {
  const { body } = await post("api/asset?atomic=true", command);
  const [failed] = body.commandFailures.commands;
  if (failed) throw new Error(failed.error.message);
  return body;
}

// Creates a project. Assets nested in it are created with it, and are related to it.
async function createProject() {
  const answer = await write({
    AssetType: "Scope", Name: "Web shop", Parent: "Scope:0", BeginDate: "2026-01-01",
    Workitems: [
      { AssetType: "Story", Name: "Browse the catalogue", Estimate: 3 },
      { AssetType: "Story", Name: "Gift wrap", Estimate: 1 },
      { AssetType: "Story", Name: "Pay by card", Estimate: 8, Children: [
        { AssetType: "Task", Name: "Choose a provider" },
        { AssetType: "Task", Name: "Send the receipt" },
      ] },
    ],
  });
  const [project, ...rest] = answer.assetsCreated.oidTokens; // in the order of the request
  console.log(`created ${project} and ${rest.length} assets in it`);
  return project;
}

async function showStories(project) {
  const { body: [stories] } = await post("query.v1", { // the answer has a list of rows for each query
    from: "Story", where: { Scope: project }, sort: ["-Estimate"],
    select: ["Name", "Estimate", { from: "Children:Task", select: ["Name"] }],
  });
  for (const story of stories) {
    const tasks = story["Children:Task"].map((task) => task.Name).join(", ") || "no tasks";
    console.log(`${story._oid} ${story.Name}, estimate ${story.Estimate}: ${tasks}`);
  }
}

// Reads the stories page by page. With a cursor, no story is repeated or skipped if other
// stories are created meanwhile.
async function showPages(project) {
  let after = "";
  while (after !== null) {
    const { headers, body: [stories] } = await post("query.v1", {
      from: "Story", where: { Scope: project }, select: ["Name"], sort: ["Name"], page: { size: 2, after },
    });
    console.log(`page: ${stories.map((story) => story.Name).join(", ")}`);
    after = JSON.parse(headers.get("Alds-Result"))[0].next; // null after the last page
  }
}

// Returns whether the sender of the body knows the secret and sent the body recently.
function isGenuine(secret, headers, body) {
  const id = headers["webhook-id"], sent = headers["webhook-timestamp"];
  if (!(Math.abs(Date.now() / 1000 - Number(sent)) <= tolerance)) return false; // also if the header has no number
  const key = Buffer.from(secret.replace("whsec_", ""), "base64");
  const digest = createHmac("sha256", key).update(`${id}.${sent}.`).update(body).digest("base64");
  const expected = Buffer.from(`v1,${digest}`);
  return (headers["webhook-signature"] ?? "").split(" ").some((text) => { // there are two while the secret is replaced
    const signature = Buffer.from(text);
    return signature.length === expected.length && timingSafeEqual(signature, expected);
  });
}

async function read(request) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > largest) throw new Error("too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function followChange(project) {
  let secret;
  const deliveries = new EventEmitter();
  const listener = createServer(async (request, response) => {
    try {
      const body = await read(request);
      const genuine = isGenuine(secret, request.headers, body);
      response.writeHead(genuine ? 204 : 401).end();
      if (genuine) deliveries.emit("delivery", JSON.parse(body));
    } catch {
      request.destroy(); // the sender has closed the connection, or sends too much
    }
  }).listen(0, "127.0.0.1"); // 0: any free port
  await once(listener, "listening");
  const { body: hook } = await post("api/webhook", {
    webhookId: "example", url: `http://127.0.0.1:${listener.address().port}`, secret: "generate",
    eventTypes: [{
      type: "AssetChanged", from: "Story", attributes: ["Status", "Estimate"],
      filter: ["Scope=$Project"], with: { $Project: project }, select: ["Name", "Status.Name"],
    }],
  });
  secret = hook.secret; // only this answer of the service shows it
  try {
    const received = once(deliveries, "delivery", { signal: AbortSignal.timeout(patience) });
    const [[{ events }]] = await Promise.all([
      received.catch(() => { throw new Error("no event came"); }),
      write({
        from: "Story", where: { Scope: project, Name: "Pay by card" },
        update: { Status: "In Progress", Estimate: 5 },
      }),
    ]);
    events.forEach(showEvent);
  } finally {
    await post(`api/webhook/delete/${hook.id}`);
    console.log("subscription deleted");
    listener.close();
    listener.closeAllConnections();
  }
}

function showEvent({ snapshot: [story], instigator, changes }) { // the story as it was after the change
  console.log(`${story._oid} ${story.Name} is ${story["Status.Name"]}, by ${instigator.name}`);
  for (const { name, old, new: now } of changes) console.log(`  ${name}: ${shown(old)} -> ${shown(now)}`);
}

function shown(value) {
  return value?._oid ?? value ?? "nothing";
}

try {
  const project = await createProject();
  await showStories(project);
  await showPages(project);
  await followChange(project);
} catch (error) {
  console.error(error.cause ? `${error.message}: ${error.cause.message}` : error.message);
  process.exit(1);
}

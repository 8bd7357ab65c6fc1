// A client whose types and paths openapi-typescript has made of docs/openapi.yaml. It
// creates, queries, changes and deletes; each answer must be what the description says.
import createClient from "openapi-fetch";
import type { operations, paths } from "./api.js";

const [base, user, password] = process.argv.slice(2) as [string, string, string];

const client = createClient<paths>({
  baseUrl: base,
  headers: { Authorization: "Basic " + Buffer.from(`${user}:${password}`).toString("base64"), Accept: "application/json" },
});

type System = operations["getSystem"]["responses"]["200"]["content"]["application/json"];

function must<T>(what: string, result: { data?: T; error?: unknown; response: Response }): T {
  if (result.data === undefined) {
    throw new Error(`${what}: ${result.response.status} ${JSON.stringify(result.error)}`);
  }
  console.log(`${what}: ${result.response.status}`);
  return result.data;
}

function expect(what: string, got: unknown, want: unknown): void {
  if (JSON.stringify(got) !== JSON.stringify(want)) {
    throw new Error(`${what} is ${JSON.stringify(got)}, want ${JSON.stringify(want)}`);
  }
}

async function main(): Promise<void> {
  const made = must("runCommands", await client.POST("/api/asset", {
    body: {
      AssetType: "Scope", Name: "Generated", Parent: "Scope:0", BeginDate: "2026-01-01",
      Workitems: [{ AssetType: "Story", Name: "Pay by card", Estimate: 3 }],
    },
  }));
  expect("the failures", made.commandFailures?.count, 0);
  const story = made.assetsCreated!.oidTokens![1]!.split(":").slice(0, 2).join(":");
  const id = Number(story.split(":")[1]);

  const sets = must("query", await client.POST("/query.v1", { body: { from: "Story", where: { "Scope.Name": "Generated" }, select: ["Name", "Estimate"] } }));
  expect("the story", sets[0]!.map((row) => [row._oid, row["Name"], Number(row["Estimate"])]), [[story, "Pay by card", 3]]);

  must("getAsset", await client.GET("/rest-1.v1/Data/{type}/{id}", { params: { path: { type: "Story", id }, query: { sel: "Name" } } }));
  const gone = await client.GET("/rest-1.v1/Data/{type}/{id}", { params: { path: { type: "Story", id: 987654321 } } });
  expect("the status of a request for an asset that does not exist", gone.response.status, 404);

  const hook = must("createWebhook", await client.POST("/api/webhook", {
    body: { webhookId: "generated", url: "http://127.0.0.1:9/", enabled: false, eventTypes: [{ type: "AssetChanged", from: "Story", attributes: ["Name"], select: ["Name"] }] },
  }));
  const hooks = must("listWebhooks", await client.GET("/api/webhook"));
  expect("the subscription", hooks.results?.map((h) => h.webhookId), ["generated"]);
  must("deleteWebhook", await client.POST("/api/webhook/delete/{id}", { params: { path: { id: hook.id! } } }));

  const system: System = must("getSystem", await client.GET("/api/system"));
  expect("what answers", system._type, "System");

  const deleted = must("runCommands", await client.POST("/api/asset", { body: [{ from: story, execute: "Delete" }] }));
  expect("what was deleted", deleted.assetsOperatedOn?.count, 1);
  console.log("done");
}

await main();

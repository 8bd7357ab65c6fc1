// Sends bytes with the standard library: what is 401 is sent again with credentials.
"use strict";
const http = require("node:http");

const [user, password, ...targets] = process.argv.slice(2);

function post(url, size, headers) {
  return new Promise((resolve, reject) => {
    const r = http.request(url, { method: "POST", headers: { "Content-Type": "application/octet-stream", "Content-Length": size, ...headers } }, (answer) => {
      answer.resume();
      answer.on("end", () => resolve(answer.statusCode));
    });
    r.on("error", reject);
    r.end(Buffer.alloc(Number(size), "x"));
  });
}

(async () => {
  for (const target of targets) {
    const [url, size] = target.split(",");
    let status = await post(url, size, {});
    if (status === 401) status = await post(url, size, { Authorization: "Basic " + Buffer.from(user + ":" + password).toString("base64") });
    console.log(size, status);
  }
})();

// Parses a PowerShell program and tells where its syntax is wrong:
//
//     node syntax.cjs client.ps1
//
// Needs the packages web-tree-sitter and tree-sitter-powershell beside it.

const { readFileSync } = require("node:fs");
const v8 = require("node:v8");
const { Language, Parser } = require("web-tree-sitter");

v8.setFlagsFromString("--liftoff-only"); // to optimize the grammar takes half a minute, to parse an instant

async function main() {
  await Parser.init();
  const parser = new Parser();
  parser.setLanguage(await Language.load(require.resolve("tree-sitter-powershell/tree-sitter-powershell.wasm")));
  const { rootNode } = parser.parse(readFileSync(process.argv[2], "utf8"));
  report(rootNode);
  if (rootNode.hasError) process.exit(1);
  console.log(`parsed ${rootNode.descendantCount} nodes`);
}

function report(node) {
  if (node.isError || node.isMissing) {
    console.log(`line ${node.startPosition.row + 1}: ${node.isMissing ? `no ${node.type} after` : "error in"} ${node.text.slice(0, 100)}`);
  }
  if (node.hasError) node.children.forEach(report);
}

main();

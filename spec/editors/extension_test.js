// node spec/editors/extension_test.js CHECK_SHARDING: the VS Code extension with a stand-in for VS Code's API.
"use strict";
const assert = require("assert");
const Module = require("module");
const path = require("path");

const text = 'mesh t\ndim B F\nfn f(x: f32[B F]) -> f32[B] { return exp(sum("B F -> B", x)) }\n' +
  'plan p implements f(x: f32[B F/t]) -> f32[B] {\n    s = sum("B F/t -> B {U_t}", x)\n    return exp(s)\n}\n';
const document = { languageId: "shard", version: 1, uri: { toString: () => "file:///tmp/shardproof/a.shard" }, getText: () => text };
const providers = {}, published = [], warnings = [];
let arrived;
const fields = names => class { constructor(...values) { names.forEach((name, i) => { this[name] = values[i]; }); } };
const event = () => ({ dispose() {} });
const vscode = {
  Position: fields(["line", "character"]), Range: fields(["start", "end"]), Location: fields(["uri", "range"]), TextEdit: fields(["range", "newText"]),
  Hover: fields(["contents", "range"]), MarkdownString: fields(["value"]), Diagnostic: fields(["range", "message", "severity"]),
  DiagnosticRelatedInformation: fields(["location", "message"]), DocumentSymbol: fields(["name", "detail", "kind", "range", "selectionRange"]),
  FoldingRange: fields(["start", "end"]), InlayHint: fields(["position", "label", "kind"]), CompletionItem: fields(["label", "kind"]),
  CodeLens: fields(["range", "command"]), CodeAction: fields(["title", "kind"]), CodeActionKind: { QuickFix: "quickfix" },
  SemanticTokens: fields(["data"]), SemanticTokensLegend: fields(["types", "modifiers"]),
  EventEmitter: class { constructor() { this.event = event; } fire() {} dispose() {} },
  WorkspaceEdit: class { set(uri, edits) { this.edits = edits; } },
  Uri: { parse: each => each },
  languages: new Proxy({}, { get: (_, name) => name === "createDiagnosticCollection"
    ? () => ({ set: (uri, list) => { published.push(list); if (arrived) arrived(); }, dispose() {} })
    : (selector, provider) => { providers[name] = provider; return { dispose() {} }; } }),
  workspace: { getConfiguration: () => ({ get: () => process.argv[2] }), textDocuments: [document], onDidOpenTextDocument: event,
    onDidChangeTextDocument: change => { vscode.change = change; return event(); }, onDidCloseTextDocument: event },
  window: { showWarningMessage: message => warnings.push(message) },
};
const load = Module._load;
Module._load = (name, ...rest) => name === "vscode" ? vscode : load(name, ...rest);
const extension = require(path.join(__dirname, "vscode/extension.js"));

const until = async count => { while (published.length < count) await new Promise(resolve => { arrived = resolve; }); };
(async () => {
  await extension.activate({ subscriptions: [] });
  await until(2);
  const [wrong] = published[1];
  assert.strictEqual(wrong.code, "E0207");
  assert.strictEqual(wrong.severity, 0);
  assert.deepStrictEqual({ ...wrong.range.start }, { line: 5, character: 11 });
  const hover = await providers.registerHoverProvider.provideHover(document, { line: 4, character: 4 });
  assert.match(hover.contents.value, /s: f32\[B\]\{U_t\}/);
  const actions = await providers.registerCodeActionsProvider.provideCodeActions(document, wrong.range);
  assert.match(actions[0].edit.edits[0].newText, /all_reduce/);
  const lenses = await providers.registerCodeLensProvider.provideCodeLenses(document);
  assert.match(lenses[0].command.title, /^refuted/);
  for (const [name, method] of [["registerInlayHintsProvider", "provideInlayHints"], ["registerFoldingRangeProvider", "provideFoldingRanges"], ["registerDocumentSymbolProvider", "provideDocumentSymbols"], ["registerDocumentFormattingEditProvider", "provideDocumentFormattingEdits"]])
    assert.ok(Array.isArray(await providers[name][method](document, { start: { line: 0, character: 0 }, end: { line: 9, character: 0 } })), name);
  assert.ok((await providers.registerCompletionItemProvider.provideCompletionItems(document, { line: 5, character: 12 })).length > 10);
  assert.ok((await providers.registerDocumentSemanticTokensProvider.provideDocumentSemanticTokens(document)).data.length > 10);
  const renamed = await providers.registerRenameProvider.provideRenameEdits(document, { line: 4, character: 4 }, "total");
  assert.strictEqual(renamed.edits.length, 2);
  await assert.rejects(providers.registerRenameProvider.provideRenameEdits(document, { line: 4, character: 4 }, "fn"));
  vscode.change({ document: { ...document, version: 2, getText: () => text.replace("exp(s)\n}", 'exp(all_reduce("B {U_t} -> B", s))\n}') } });
  await until(4);
  assert.deepStrictEqual(published[3], []);
  await extension.deactivate();
  assert.deepStrictEqual(warnings, []);
  console.log("the extension answers");
})().catch(error => { console.error(error); process.exit(1); });

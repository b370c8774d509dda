// A client of `check-sharding --lsp` for VS Code, without a package beside it.
"use strict";
const { spawn } = require("child_process");
const vscode = require("vscode");

class Client {
  constructor(program, onNotification, onEnd) {
    this.buffer = Buffer.alloc(0);
    this.waiting = new Map();
    this.last = 0;
    this.onNotification = onNotification;
    this.process = spawn(program, ["--lsp"], { stdio: ["pipe", "pipe", "ignore"] });
    this.process.on("error", error => onEnd(error.message));
    this.process.on("exit", code => {
      for (const { resolve } of this.waiting.values()) resolve(null);
      this.waiting.clear();
      if (!this.stopped) onEnd(`it ended with ${code}`);
    });
    this.process.stdin.on("error", () => {});
    this.process.stdout.on("data", data => this.read(data));
  }
  read(data) {
    this.buffer = Buffer.concat([this.buffer, data]);
    for (;;) {
      const head = this.buffer.indexOf("\r\n\r\n");
      if (head < 0) return;
      const length = Number(/Content-Length: *(\d+)/i.exec(this.buffer.toString("ascii", 0, head))[1]);
      if (this.buffer.length < head + 4 + length) return;
      const message = JSON.parse(this.buffer.toString("utf8", head + 4, head + 4 + length));
      this.buffer = this.buffer.subarray(head + 4 + length);
      this.take(message);
    }
  }
  take(message) {
    if (message.method) return this.onNotification(message.method, message.params);
    const waiting = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    if (!waiting) return undefined;
    return message.error ? waiting.reject(new Error(message.error.message)) : waiting.resolve(message.result);
  }
  send(message) {
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
    this.process.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
    this.process.stdin.write(body);
  }
  tell(method, params) { this.send({ method, params }); }
  ask(method, params) {
    const id = ++this.last;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.send({ id, method, params });
    });
  }
  stop() {
    this.stopped = true;
    return this.ask("shutdown", null).then(() => this.tell("exit", null));
  }
}

const position = at => new vscode.Position(at.line, at.character);
const range = each => new vscode.Range(position(each.start), position(each.end));
const uri = text => vscode.Uri.parse(text);
const location = each => new vscode.Location(uri(each.uri), range(each.range));
const edits = list => list.map(each => new vscode.TextEdit(range(each.range), each.newText));
function workspaceEdit(edit) {
  const result = new vscode.WorkspaceEdit();
  for (const [file, list] of Object.entries(edit.changes)) result.set(uri(file), edits(list));
  return result;
}
function diagnostic(each) {
  const result = new vscode.Diagnostic(range(each.range), each.message, each.severity - 1);
  result.code = each.code;
  result.source = each.source;
  result.tags = each.tags;
  result.relatedInformation = each.relatedInformation.map(
    other => new vscode.DiagnosticRelatedInformation(location(other.location), other.message));
  return result;
}

function register(client, legend) {
  const shard = { language: "shard" };
  const languages = vscode.languages;
  const of = document => ({ textDocument: { uri: document.uri.toString() } });
  const at = (document, where, more) => ({ ...of(document), position: { line: where.line, character: where.character }, ...more });
  const between = each => ({ start: { line: each.start.line, character: each.start.character }, end: { line: each.end.line, character: each.end.character } });
  const ask = async (name, params, read) => {
    const answer = await client.ask("textDocument/" + name, params);
    return answer === null ? null : read(answer);
  };
  const each = read => list => list.map(read);
  const lensesChanged = new vscode.EventEmitter();
  return [
    lensesChanged,
    languages.registerHoverProvider(shard, { provideHover: (d, p) => ask("hover", at(d, p), h => new vscode.Hover(new vscode.MarkdownString(h.contents.value), range(h.range))) }),
    languages.registerDefinitionProvider(shard, { provideDefinition: (d, p) => ask("definition", at(d, p), location) }),
    languages.registerReferenceProvider(shard, { provideReferences: (d, p) => ask("references", at(d, p), each(location)) }),
    languages.registerDocumentFormattingEditProvider(shard, { provideDocumentFormattingEdits: d => ask("formatting", of(d), edits) }),
    languages.registerDocumentSymbolProvider(shard, { provideDocumentSymbols: d => ask("documentSymbol", of(d), each(s => new vscode.DocumentSymbol(s.name, s.detail, s.kind - 1, range(s.range), range(s.selectionRange)))) }),
    languages.registerFoldingRangeProvider(shard, { provideFoldingRanges: d => ask("foldingRange", of(d), each(f => new vscode.FoldingRange(f.startLine, f.endLine))) }),
    languages.registerInlayHintsProvider(shard, { provideInlayHints: (d, r) => ask("inlayHint", { ...of(d), range: between(r) }, each(h => new vscode.InlayHint(position(h.position), h.label, h.kind))) }),
    languages.registerCompletionItemProvider(shard, { provideCompletionItems: (d, p) => ask("completion", at(d, p), each(i => Object.assign(new vscode.CompletionItem(i.label, i.kind - 1), { detail: i.detail }))) }, "\"", "/", "[", "|", "."),
    languages.registerCodeLensProvider(shard, { onDidChangeCodeLenses: lensesChanged.event, provideCodeLenses: d => ask("codeLens", of(d), each(l => new vscode.CodeLens(range(l.range), l.command))) }),
    languages.registerRenameProvider(shard, {
      prepareRename: (d, p) => client.ask("textDocument/prepareRename", at(d, p)).then(r => { if (!r) throw new Error("this cannot be renamed"); return range(r); }),
      provideRenameEdits: (d, p, newName) => ask("rename", at(d, p, { newName }), workspaceEdit),
    }),
    languages.registerCodeActionsProvider(shard, {
      provideCodeActions: (d, r) => ask("codeAction", { ...of(d), range: between(r), context: { diagnostics: [] } }, each(a => {
        const action = new vscode.CodeAction(a.title, vscode.CodeActionKind.QuickFix);
        action.edit = workspaceEdit(a.edit);
        return action;
      })),
    }),
    languages.registerDocumentSemanticTokensProvider(shard, { provideDocumentSemanticTokens: d => ask("semanticTokens/full", of(d), t => new vscode.SemanticTokens(new Uint32Array(t.data))) },
      new vscode.SemanticTokensLegend(legend.tokenTypes, legend.tokenModifiers)),
  ];
}

let client;

async function activate(context) {
  const program = vscode.workspace.getConfiguration("shardproof").get("program");
  const found = vscode.languages.createDiagnosticCollection("check-sharding");
  let lenses;
  client = new Client(program, (method, params) => {
    if (method !== "textDocument/publishDiagnostics") return;
    found.set(uri(params.uri), params.diagnostics.map(diagnostic));
    if (lenses) lenses.fire();
  }, why => vscode.window.showWarningMessage(`${program} --lsp: ${why}. Set shardproof.program to where check-sharding is.`));
  const answer = await client.ask("initialize", { processId: process.pid, rootUri: null, capabilities: {} });
  if (!answer) return;
  client.tell("initialized", {});
  const registered = register(client, answer.capabilities.semanticTokensProvider.legend);
  lenses = registered[0];
  const ours = document => document.languageId === "shard";
  const open = d => ours(d) && client.tell("textDocument/didOpen", { textDocument: { uri: d.uri.toString(), languageId: "shard", version: d.version, text: d.getText() } });
  vscode.workspace.textDocuments.forEach(open);
  context.subscriptions.push(found, ...registered,
    vscode.workspace.onDidOpenTextDocument(open),
    vscode.workspace.onDidChangeTextDocument(e => ours(e.document) && client.tell("textDocument/didChange", { textDocument: { uri: e.document.uri.toString(), version: e.document.version }, contentChanges: [{ text: e.document.getText() }] })),
    vscode.workspace.onDidCloseTextDocument(d => ours(d) && client.tell("textDocument/didClose", { textDocument: { uri: d.uri.toString() } })));
}

module.exports = { activate, deactivate: () => client && client.stop() };

"""One session of each feature through pytest-lsp, whose types of the protocol refuse an answer that is not of it. Run by
ci/test with the packages of ci/venv-editors.txt; CHECK_SHARDING is the program."""

import os

import pytest_lsp
from lsprotocol import types as lsp
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

URI = "file:///shardproof/open.shard"
TEXT = """mesh d t
dim B M F
config small { B=8 M=4 F=6 d=2 t=3 }
fn up(x: f32[B M], w: f32[M F]) -> f32[B F] {
    return einsum("B M, M F -> B F", x, w)
}
plan up_sharded implements up(x: f32[B/d M], w: f32[M F/t]) -> f32[B/d F] {
    h = einsum("B/d M, M F/t -> B/d F/t", x, w)
    return all_gather("B/d F/t -> B/d F", h)
}
"""
# The sum over t is forgotten.
WRONG = """mesh t
dim B F
fn f(x: f32[B F]) -> f32[B] { return exp(sum("B F -> B", x)) }
plan p implements f(x: f32[B F/t]) -> f32[B] {
    s = sum("B F/t -> B {U_t}", x)
    return exp(s)
}
"""
DOCUMENT = lsp.TextDocumentIdentifier(uri=URI)


@pytest_lsp.fixture(config=ClientServerConfig(server_command=[os.environ["CHECK_SHARDING"], "--lsp"]))
async def client(lsp_client: LanguageClient):
    lsp_client.feature(lsp.WORKSPACE_CODE_LENS_REFRESH)(lambda *_: None)  # VS Code answers it
    await lsp_client.initialize_session(lsp.InitializeParams(capabilities=client_capabilities("visual-studio-code"), root_uri=None))
    yield
    await lsp_client.shutdown_session()


async def settled(client, text):
    """Opens the text; what is published with the types, and what with the proofs."""
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(URI, "shard", 1, text)))
    await client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    await client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    return client.diagnostics[URI]


def at(line, character):
    return {"text_document": DOCUMENT, "position": lsp.Position(line, character)}


async def test_a_proved_program(client: LanguageClient):
    assert not await settled(client, TEXT)
    hover = await client.text_document_hover_async(lsp.HoverParams(**at(7, 4)))
    assert "h: f32[B/d F/t]" in hover.contents.value
    hints = await client.text_document_inlay_hint_async(lsp.InlayHintParams(DOCUMENT, lsp.Range(lsp.Position(0, 0), lsp.Position(99, 0))))
    assert [hint.label for hint in hints] == [": f32[B/d F/t]"]
    lenses = await client.text_document_code_lens_async(lsp.CodeLensParams(DOCUMENT))
    assert [lens.range.start.line for lens in lenses] == [6] and lenses[0].command.title.startswith("proved for every mesh with")
    there = await client.text_document_definition_async(lsp.DefinitionParams(**at(8, 42)))
    assert there.range.start == lsp.Position(7, 4), there
    references = await client.text_document_references_async(lsp.ReferenceParams(lsp.ReferenceContext(include_declaration=True), **at(7, 4)))
    assert len(references) == 2
    renamed = await client.text_document_rename_async(lsp.RenameParams(new_name="hidden", **at(7, 4)))
    assert len(renamed.changes[URI]) == 2
    completions = await client.text_document_completion_async(lsp.CompletionParams(**at(7, 8)))
    items = completions if isinstance(completions, list) else completions.items
    assert {"einsum", "x", "w"} <= {item.label for item in items}
    symbols = await client.text_document_document_symbol_async(lsp.DocumentSymbolParams(DOCUMENT))
    assert [symbol.name for symbol in symbols] == ["d t", "B M F", "small", "up", "up_sharded"]
    folds = await client.text_document_folding_range_async(lsp.FoldingRangeParams(DOCUMENT))
    assert (6, 9) in [(fold.start_line, fold.end_line) for fold in folds]
    tokens = await client.text_document_semantic_tokens_full_async(lsp.SemanticTokensParams(DOCUMENT))
    assert tokens.data and len(tokens.data) % 5 == 0
    edits = await client.text_document_formatting_async(lsp.DocumentFormattingParams(DOCUMENT, lsp.FormattingOptions(4, True)))
    assert not edits


async def test_a_refuted_program_and_its_fix(client: LanguageClient):
    found = await settled(client, WRONG)
    assert [each.code for each in found] == ["E0207"] and found[0].range.start == lsp.Position(5, 11)
    actions = await client.text_document_code_action_async(lsp.CodeActionParams(DOCUMENT, found[0].range, lsp.CodeActionContext(found)))
    assert "all_reduce" in actions[0].edit.changes[URI][0].new_text

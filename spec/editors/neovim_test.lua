-- One whole session in Neovim, which editors_test.py begins.
local function fail(why)
  io.stderr:write(why .. '\n')
  vim.cmd('cquit 1')
end
local function wait(what, condition)
  if not vim.wait(20000, condition, 50) then fail('not seen: ' .. what) end
end
local function ask(method, params)
  local answers = vim.lsp.buf_request_sync(0, method, params, 20000) or {}
  local _, answer = next(answers)
  return answer and answer.result
end

local text = vim.split([[
mesh t
dim B F
fn f(x: f32[B F]) -> f32[B] { return exp(sum("B F -> B", x)) }
plan p implements f(x: f32[B F/t]) -> f32[B] {
  s = sum("B F/t -> B {U_t}", x)
  return exp(s)
}]], '\n')
local file = vim.fn.tempname() .. '.shard'
vim.fn.writefile(text, file)
vim.cmd('filetype plugin on')
vim.cmd('edit ' .. file)
wait('the server', function() return #vim.tbl_keys(vim.lsp.buf_get_clients(0)) == 1 end)
wait('E0207', function()
  local found = vim.diagnostic.get(0)
  return #found == 1 and found[1].code == 'E0207' and found[1].lnum == 5
end)
vim.api.nvim_win_set_cursor(0, { 5, 2 })
local hover = ask('textDocument/hover', vim.lsp.util.make_position_params())
if not hover or not hover.contents.value:find('s: f32[B]{U_t}', 1, true) then fail('hover: ' .. vim.inspect(hover)) end
-- The quick fix comes with the proof, which ends behind the types.
local actions
wait('the quick fix', function()
  actions = ask('textDocument/codeAction', {
    textDocument = vim.lsp.util.make_text_document_params(),
    range = { start = { line = 5, character = 0 }, ['end'] = { line = 5, character = 15 } },
    context = { diagnostics = {} },
  })
  return actions and #actions > 0
end)
vim.lsp.util.apply_workspace_edit(actions[1].edit, 'utf-16')
wait('no diagnostic behind the fix', function() return #vim.diagnostic.get(0) == 0 end)
local edits = ask('textDocument/formatting', { textDocument = vim.lsp.util.make_text_document_params(), options = { tabSize = 4, insertSpaces = true } })
vim.lsp.util.apply_text_edits(edits, vim.api.nvim_get_current_buf(), 'utf-16')
if vim.fn.getline(5) ~= '    s = sum("B F/t -> B {U_t}", x)' then fail('formatting: ' .. vim.fn.getline(5)) end
vim.api.nvim_win_set_cursor(0, { 5, 4 })
vim.lsp.buf.rename('total')
wait('the new name', function() return vim.fn.getline(5):find('    total = ', 1, true) ~= nil end)
wait('the verdict', function()
  local lenses = ask('textDocument/codeLens', { textDocument = vim.lsp.util.make_text_document_params() })
  return lenses and lenses[1] and lenses[1].command.title:find('proved for every mesh', 1, true)
end)
vim.fn.delete(file)
print('a session in Neovim passed')
vim.cmd('qall!')

-- Starts `check-sharding --lsp` for a buffer; one server for each project.
local M = { clients = {} }

function M.start()
  local file = vim.api.nvim_buf_get_name(0)
  local marker = vim.fn.finddir('.git', vim.fn.fnamemodify(file, ':p:h') .. ';')
  local root = marker ~= '' and vim.fn.fnamemodify(marker, ':p:h:h') or vim.fn.fnamemodify(file, ':p:h')
  local config = { name = 'check-sharding', cmd = { vim.g.shardproof_program or 'check-sharding', '--lsp' }, root_dir = root }
  if vim.lsp.start then
    return vim.lsp.start(config)
  end
  local client = M.clients[root]
  if not client or not vim.lsp.get_client_by_id(client) then
    client = vim.lsp.start_client(config)
    M.clients[root] = client
  end
  vim.lsp.buf_attach_client(0, client)
  return client
end

return M

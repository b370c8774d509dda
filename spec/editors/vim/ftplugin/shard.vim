" Comments, indentation, and :make for .shard programs.
if exists('b:did_ftplugin') | finish | endif
let b:did_ftplugin = 1

setlocal comments=:# commentstring=#\ %s
setlocal expandtab shiftwidth=4 softtabstop=4
setlocal suffixesadd=.shard
let &l:include = '\<from\s*"'
compiler shard
if has('nvim-0.8') && executable('check-sharding') && !get(g:, 'shardproof_no_lsp', 0)
  lua vim.lsp.start({ name = 'check-sharding', cmd = { 'check-sharding', '--lsp' }, root_dir = vim.fs.dirname(vim.fs.find('.git', { upward = true, path = vim.fs.dirname(vim.api.nvim_buf_get_name(0)) })[1]) })
endif
let b:undo_ftplugin = 'setlocal comments< commentstring< expandtab< shiftwidth< softtabstop< suffixesadd< include<'

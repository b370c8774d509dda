" Comments, indentation, and :make for .shard programs.
if exists('b:did_ftplugin') | finish | endif
let b:did_ftplugin = 1

setlocal comments=:# commentstring=#\ %s
setlocal expandtab shiftwidth=4 softtabstop=4
setlocal suffixesadd=.shard
let &l:include = '\<from\s*"'
compiler shard
if has('nvim') && executable(get(g:, 'shardproof_program', 'check-sharding')) && !get(g:, 'shardproof_no_lsp', 0)
  lua require('shardproof').start()
endif
let b:undo_ftplugin = 'setlocal comments< commentstring< expandtab< shiftwidth< softtabstop< suffixesadd< include<'

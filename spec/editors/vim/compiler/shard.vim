" :make runs check-sharding; each finding stands in the quickfix list at its line.
if exists('current_compiler') | finish | endif
let current_compiler = 'shard'

CompilerSet makeprg=check-sharding\ --no-color\ %:S
" error[E0207]: text
"   --> file:line:column
CompilerSet errorformat=%Eerror[%.%#]:\ %m,%Wwarning[%.%#]:\ %m,%Inote[%.%#]:\ %m,%Eunknown[%.%#]:\ %m,%C%\\s%#-->\ %f:%l:%c,%C%.%#,%-G%.%#

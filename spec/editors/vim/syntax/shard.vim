" Colors of .shard programs: dims, axes and states inside of types and patterns are told apart.
if exists('b:current_syntax') | finish | endif

syntax keyword shardDeclaration import mesh const config record layout fn plan trusted schedule dim
syntax keyword shardStatement return next emit require assume let
syntax keyword shardLoop scan ring pipeline stages for in over by reverse
syntax keyword shardClaim from of as implements after wrt grad value_and_grad each with pads
syntax keyword shardOperatorWord and or not
syntax keyword shardConstant true false zeros
syntax keyword shardDtype f64 f32 bf16 f16 f8 i32 u32 bool float key
syntax keyword shardCollective all_gather all_reduce psum_scatter reduce_scatter all_to_all ppermute fan_out slice index_unreduced

syntax match shardFunctionName /\%(\<fn\s\+\|\<plan\s\+\|\<schedule\s\+\)\@<=\h\w*/
syntax match shardTypeName /\%(\<record\s\+\|\<layout\s\+\)\@<=\h\w*/
syntax match shardNumber /\%(\w\|\.\)\@<!\%(\d\+\%(\.\d\+\)\?\|\.\d\+\)\%([eE][+-]\?\d\+\)\?\w\@!/
syntax match shardSize /|\h\w*|/
syntax match shardState /\%(\<\%(U\|I\|Max\)\|?\)_\h\w*\>/
syntax match shardAxis contained "/\h\w*"
syntax match shardArrow contained /->\|;/
syntax region shardType matchgroup=shardDtype start=/\<\%(f64\|f32\|bf16\|f16\|f8\|i32\|u32\|bool\|float\|key\)\[/ end=/\]/ contains=shardAxis,shardNumber oneline
syntax region shardPattern start=/"/ end=/"/ end=/$/ contains=shardAxis,shardArrow,shardState oneline
syntax match shardComment /#.*$/ contains=@Spell

highlight default link shardDeclaration Keyword
highlight default link shardStatement Statement
highlight default link shardLoop Repeat
highlight default link shardClaim Keyword
highlight default link shardOperatorWord Operator
highlight default link shardConstant Constant
highlight default link shardDtype Type
highlight default link shardType Identifier
highlight default link shardTypeName Type
highlight default link shardFunctionName Function
highlight default link shardCollective Special
highlight default link shardNumber Number
highlight default link shardSize Number
highlight default link shardState PreProc
highlight default link shardAxis Special
highlight default link shardArrow Operator
highlight default link shardPattern String
highlight default link shardComment Comment

let b:current_syntax = 'shard'

#include "impl/compile/sliced.h"

#include <algorithm>

#include "spec/ir/walk.h"

namespace shardproof::compile {
namespace {

void add_reads(const ir::Instr& instr, ValueIds& reads) {
  reads.insert(instr.operands.begin(), instr.operands.end());
  if (const ir::Block* body = body_of(instr.op)) {
    const ValueIds inner = needs_of(*body);
    reads.insert(inner.begin(), inner.end());
  }
}

}  // namespace

ValueIds defined_in(const ir::Block& block) {
  ValueIds ids(block.params.begin(), block.params.end());
  for_each_instr(block, [&](const ir::Instr& instr) {
    ids.insert(instr.results.begin(), instr.results.end());
    if (const ir::Block* body = body_of(instr.op))
      ids.insert(body->params.begin(), body->params.end());
  });
  ids.erase(ir::no_value);
  return ids;
}

ValueIds needs_of(const ir::Block& block) {
  ValueIds reads(block.next.begin(), block.next.end());
  reads.insert(block.emit.begin(), block.emit.end());
  for (const ir::Instr& instr : block.instrs) add_reads(instr, reads);
  for (const ir::ValueId own : defined_in(block)) reads.erase(own);
  reads.erase(ir::no_value);
  return reads;
}

const ir::Instr* maker_of(const ir::Block& block, ir::ValueId value) {
  for (const ir::Instr& instr : block.instrs)
    if (std::count(instr.results.begin(), instr.results.end(), value)) return &instr;
  return nullptr;
}

Slice::Slice(const ir::Block& block, ValueIds wanted, const Instrs& left_out)
    : whole_(block), taken_(block.instrs.size(), false), needs_(std::move(wanted)) {
  std::set<size_t> calls;
  for (bool grown = true; grown;) {
    grown = false;
    for (size_t i = block.instrs.size(); i-- > 0;) {
      const ir::Instr& instr = block.instrs[i];
      const bool used = std::any_of(instr.results.begin(), instr.results.end(),
                                    [&](ir::ValueId id) { return needs_.contains(id); });
      const bool called = instr.library_call && calls.contains(*instr.library_call);
      if (left_out.contains(&instr) || taken_[i] || !(used || called)) continue;
      taken_[i] = grown = true;
      add_reads(instr, needs_);
      if (instr.library_call) calls.insert(*instr.library_call);
    }
  }
  for (size_t i = 0; i < taken_.size(); ++i)
    if (taken_[i]) {
      result_.instrs.push_back(block.instrs[i]);
      for (const ir::ValueId id : block.instrs[i].results) needs_.erase(id);
    }
}

ir::Block Slice::without(const Slice& other) const {
  ir::Block rest;
  for (size_t i = 0; i < taken_.size(); ++i)
    if (taken_[i] && !other.taken_.at(i)) rest.instrs.push_back(whole_.instrs[i]);
  return rest;
}

}  // namespace shardproof::compile

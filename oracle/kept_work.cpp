#include "oracle/kept_work.h"

#include "oracle/kept_own.h"

namespace shardproof::oracle {
namespace {

thread_local KeptWork::Own* of_thread = nullptr;

}  // namespace

KeptReadings::KeptReadings(const ir::Program& program)
    : own_(std::make_unique<Own>(Own{&program, {}})) {}
KeptReadings::~KeptReadings() = default;

KeptWork::KeptWork(KeptReadings& lasting)
    : own_(std::make_unique<Own>(Own{*lasting.own_})), before_(of_thread) {
  of_thread = own_.get();
}
KeptWork::~KeptWork() { of_thread = before_; }

KeptWork::Own* kept() { return of_thread; }

std::shared_ptr<Table> table_of(const ir::Program& program, const Sizes& sizes) {
  if (!kept()) return std::make_shared<Table>(program, sizes);
  KeptWork::Own::AtSizes& last = kept()->tables[&program];
  if (!last.table || last.sizes != sizes) last = {sizes, std::make_shared<Table>(program, sizes)};
  return last.table;
}

}  // namespace shardproof::oracle

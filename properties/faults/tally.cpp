#include "properties/faults/tally.h"

#include <algorithm>
#include <random>

#include "properties/faults/families.h"

namespace shardproof::faults {

size_t Row::refused() const {
  return count(Outcome::at_edit) + count(Outcome::downstream) + count(Outcome::at_signature) +
         count(Outcome::by_algebra);
}

void Row::add(const Judgement& judgement) {
  ++made;
  ++of[static_cast<size_t>(judgement.outcome)];
  meshes += judgement.outcome == Outcome::equal && judgement.meshes > 0;
  survived += judgement.survived;
}

void Row::add(const Row& other) {
  plans += other.plans;
  made += other.made;
  meshes += other.meshes;
  survived += other.survived;
  for (size_t i = 0; i < of.size(); ++i) of[i] += other.of[i];
}

Row Tally::total() const {
  Row sum;
  sum.name = "all";
  for (const Row& row : rows) sum.add(row);
  return sum;
}

namespace {

/// `each` faults of every family, evenly drawn; all of them for 0.
Faults drawn(Faults faults, const Sample& sample, std::mt19937& rng) {
  if (!sample.each) return faults;
  std::shuffle(faults.begin(), faults.end(), rng);
  std::array<size_t, families> taken{};
  std::erase_if(faults, [&](const Fault& fault) {
    return taken[static_cast<size_t>(fault.family)]++ >= sample.each;
  });
  return faults;
}

void list(const Field& field, const Ground& ground, const Fault& fault, const Judgement& judgement,
          const Sample& sample, Tally& tally) {
  const bool wanted = judgement.survived || judgement.outcome == Outcome::unknown ||
                      judgement.outcome == Outcome::small_sizes || sample.list_all;
  if (!wanted) return;
  std::string text = field.place(fault.range) + " " + ground.function.name + ": " +
                     to_string(fault.family) + ": " + fault.text;
  if (!judgement.why.empty()) text += " (" + judgement.code + " " + judgement.why + ")";
  tally.listed.push_back({judgement.outcome, judgement.survived, std::move(text)});
}

Row& row_of(Tally& tally, const std::string& name) {
  for (Row& row : tally.rows)
    if (row.name == name) return row;
  tally.rows.push_back({.name = name});
  return tally.rows.back();
}

void plant(Field& field, size_t plan, const Sample& sample, std::mt19937& rng, Row& row,
           Tally& tally) {
  const Ground ground = field.ground(plan);
  const Judgement whole = field.judge(ground);
  if (whole.outcome != Outcome::equal || whole.survived)
    tally.listed.push_back({whole.outcome, true,
                            field.place(ground.function.range) + " " + ground.function.name +
                                " itself: " + whole.why});
  ++row.plans;
  for (const Fault& fault : drawn(faults_of(ground), sample, rng)) {
    const Judgement judgement = field.judge(ground, fault);
    row.add(judgement);
    tally.by_family[static_cast<size_t>(fault.family)].add(judgement);
    list(field, ground, fault, judgement, sample, tally);
  }
}

}  // namespace

void plant(const std::string& name, const std::string& path, const Sample& sample,
           const Checker& checker, Tally& tally, const FileReader& reader) {
  const std::unique_ptr<Field> field = Field::open(path, sample.derived, checker, reader);
  if (!field) return;
  std::mt19937 rng(sample.seed);
  for (const Planned& each : field->plans()) {
    Row& row = row_of(tally, each.kind == "forward" ? name : name + ", " + each.kind);
    plant(*field, each.plan, sample, rng, row, tally);
  }
}

}  // namespace shardproof::faults

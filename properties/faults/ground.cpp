#include "properties/faults/ground.h"

#include "spec/ir/walk.h"

namespace shardproof::faults {

Ground::Ground(const ir::Program& program_, size_t plan_, bool is_step_)
    : program(program_),
      plan(plan_),
      function(program_.functions.at(plan_)),
      is_step(is_step_),
      typing(type_plan(program_, plan_, is_step_)) {
  for (const Axis& axis : program.axis_names())
    if (program.axes.at(axis).size != 1) axes.push_back(axis);
}

bool Ground::alike(ir::ValueId a, ir::ValueId b) const {
  const Type &x = type(a), &y = type(b);
  return x.dtype == y.dtype &&
         std::equal(x.dims.begin(), x.dims.end(), y.dims.begin(), y.dims.end(),
                    [](const Split& p, const Split& q) { return p.dim == q.dim; });
}

namespace {

class Sites {
 public:
  Sites(const Ground& ground, const std::function<void(const Site&)>& visit)
      : ground_(ground), visit_(visit) {}

  void run() {
    const ir::Function& f = ground_.function;
    scope_ = f.params;
    scope_.insert(scope_.end(), f.saved_params.begin(), f.saved_params.end());
    block(f.body);
    end(End::returned, f.returned, 0, f.return_range);
  }

 private:
  void block(const ir::Block& block) {
    for (const ir::Instr& instr : block.instrs) {
      const size_t at = number_++;
      visit_({&instr, at, scope_, End::next, 0, ir::no_value, instr.place.range});
      if (const ir::Block* body = shardproof::body_of(instr.op)) loop(*body, at);
      for (ir::ValueId v : instr.results)
        if (v != ir::no_value) scope_.push_back(v);
    }
  }

  void loop(const ir::Block& body, size_t at) {
    const size_t outer = scope_.size();
    scope_.insert(scope_.end(), body.params.begin(), body.params.end());
    block(body);
    end(End::next, body.next, at, body.next_range);
    end(End::emit, body.emit, at, body.next_range);
    scope_.resize(outer);
  }

  void end(End end, const std::vector<ir::ValueId>& values, size_t at, SourceRange range) {
    for (size_t i = 0; i < values.size(); ++i)
      visit_({nullptr, at, scope_, end, i, values[i], range});
  }

  const Ground& ground_;
  const std::function<void(const Site&)>& visit_;
  std::vector<ir::ValueId> scope_;
  size_t number_ = 0;
};

}  // namespace

void for_each_site(const Ground& ground, const std::function<void(const Site&)>& visit) {
  Sites(ground, visit).run();
}

Fault replaced(const Site& site, Family family, std::string text, std::vector<ir::Instr> instead) {
  Fault fault;
  fault.family = family;
  fault.text = std::move(text);
  fault.range = site.range;
  fault.at = site.at;
  fault.instead = std::move(instead);
  return fault;
}

Fault with_op(const Site& site, Family family, std::string text, ir::Op op) {
  ir::Instr instr = *site.instr;
  instr.op = std::move(op);
  return replaced(site, family, std::move(text), {std::move(instr)});
}

Fault passed_on(const Site& site, Family family, std::string text, ir::ValueId value) {
  Fault fault = replaced(site, family, std::move(text), {});
  fault.substitute = {site.instr->results.at(0), value};
  return fault;
}

Fault followed_by(const Ground& ground, const Site& site, Family family, std::string text,
                  std::vector<ir::Instr> before, ir::Op op, std::vector<ir::ValueId> operands,
                  size_t which) {
  ir::Instr first = *site.instr;
  const ir::ValueId result = first.results.at(which);
  const ir::ValueId between = fresh_id(ground, 0);
  first.results[which] = between;
  ir::Instr second{std::move(op), std::move(operands), {result}, first.place, {}};
  for (ir::ValueId& operand : second.operands)
    if (operand == ir::no_value) operand = between;
  before.insert(before.begin(), std::move(first));
  before.push_back(std::move(second));
  Fault fault = replaced(site, family, std::move(text), std::move(before));
  fault.fresh.push_back(fresh_like(ground, result));
  return fault;
}

ir::ValueId fresh_id(const Ground& ground, size_t k) {
  return static_cast<ir::ValueId>(ground.function.values.size() + k);
}

ir::Value fresh_like(const Ground& ground, ir::ValueId like) {
  ir::Value value = ground.function.values.at(like);
  value.name.clear();
  value.stated = false;
  return value;
}

ir::Value fresh_number() { return {"", Type{{}, Dtype::number}, {}, false}; }

std::string shown(const Ground& ground, ir::ValueId value) {
  const ir::Value& found = ground.function.values.at(value);
  if (!found.name.empty()) return found.name;
  const ir::Instr* maker = defining_instr(ground.function.body, value);
  return maker ? std::string("the ") + ir::name_of(maker->op) + " %" + std::to_string(value)
               : "%" + std::to_string(value);
}

}  // namespace shardproof::faults

// The call graph: orders callees before callers, and creates the program's functions.
#include <algorithm>
#include <utility>

#include "spec/resolve/pads.h"
#include "spec/resolve/signatures.h"
#include "spec/resolve/types.h"

namespace shardproof::resolution {
namespace {

struct Use {
  std::string_view name;
  SourceRange range;
};

// Finds every function that a body or a claim names.
class UseFinder {
 public:
  std::vector<Use> uses;

  void function(const syntax::FunctionDecl& decl) {
    if (decl.implements) uses.push_back({decl.implements->model, decl.name_range});
    if (decl.after) uses.push_back({*decl.after, decl.name_range});
    for (const syntax::Param& param : decl.params)
      if (param.value) expr(*param.value);
    block(decl.body);
  }

 private:
  void exprs(const std::vector<syntax::Expr>& list) {
    for (const syntax::Expr& each : list) expr(each);
  }
  void expr(const syntax::Expr& node) {
    using Kind = syntax::Expr::Kind;
    if (node.kind == Kind::call || node.kind == Kind::grad || node.kind == Kind::value_and_grad)
      uses.push_back({node.text, node.range});
    exprs(node.args);
  }
  void block(const syntax::Block& body) {
    for (const syntax::Statement& statement : body) {
      if (auto* bind = std::get_if<syntax::Bind>(&statement.node)) {
        exprs(bind->value);
        for (const syntax::Loop& loop : bind->loop) {
          for (const syntax::Carry& carry : loop.carries) expr(carry.init);
          block(loop.body);
        }
      }
      if (auto* node = std::get_if<syntax::Return>(&statement.node)) exprs(node->values);
      if (auto* node = std::get_if<syntax::Next>(&statement.node)) exprs(node->values);
      if (auto* node = std::get_if<syntax::Emit>(&statement.node)) exprs(node->values);
    }
  }
};

constexpr size_t deepest_call = 200;

// Depth first with an explicit stack: a long chain of calls would overflow the machine's stack.
class Orderer {
 public:
  explicit Orderer(World& world)
      : world_(world), state_(world.functions.size(), 0), depth_(world.functions.size(), 0) {}

  std::vector<size_t> run() {
    for (size_t i = 0; i < world_.functions.size(); ++i)
      if (!world_.files[world_.functions[i].file].library) visit(i);
    return order_;
  }

 private:
  struct Visit {
    size_t entity;
    std::vector<std::pair<size_t, SourceRange>> callees;
    size_t next = 0;
  };

  void visit(size_t root) {
    if (state_[root]) return;
    push(root);
    while (!stack_.empty()) {
      Visit& top = stack_.back();
      if (top.next == top.callees.size()) {
        state_[top.entity] = 2;
        measure(top);
        order_.push_back(top.entity);
        stack_.pop_back();
        continue;
      }
      auto [callee, range] = top.callees[top.next++];
      if (state_[callee] == 1) circle(callee, range);
      if (state_[callee] == 0) push(callee);
    }
  }

  // Limits the depth of calls: each plan is compared and run with all of its callees.
  void measure(const Visit& visit) {
    size_t& depth = depth_[visit.entity];
    for (const auto& [callee, range] : visit.callees) depth = std::max(depth, depth_[callee] + 1);
    if (depth <= deepest_call) return;
    FunctionEntity& entity = world_.functions[visit.entity];
    if (!std::exchange(entity.bad, true))
      world_.error("E0007", entity.decl->name_range, "calls nest at most 200 deep");
    depth = 0;  // report once per 200 levels
  }

  void push(size_t entity) {
    state_[entity] = 1;
    Visit visit{entity, {}};
    UseFinder finder;
    finder.function(*world_.functions[entity].decl);
    const FileScope& file = world_.files[world_.functions[entity].file];
    for (const Use& use : finder.uses) {
      auto found = file.functions.find(use.name);
      if (found != file.functions.end()) {
        for (size_t each : instances(world_, found->second))
          visit.callees.emplace_back(each, use.range);
        continue;
      }
      auto library = world_.files[0].functions.find(use.name);
      if (library != world_.files[0].functions.end())
        visit.callees.emplace_back(library->second, use.range);
    }
    stack_.push_back(std::move(visit));
  }

  void circle(size_t callee, SourceRange range) {
    const syntax::FunctionDecl& decl = *world_.functions[callee].decl;
    const Name& name = decl.name;
    const bool own_model = decl.implements && decl.implements->model == name;
    Diagnostic& error =
        world_.error("E0112", world_.locate(name, range),
                     "`" + name + (own_model ? "` is named as its own model" : "` calls itself"),
                     own_model ? "" : "calls itself here");
    if (own_model)
      error.fixes.push_back(
          {"a model is a fn on whole tensors: write what `" + name + "` computes as one",
           {},
           false,
           ""});
    bool inside = false;
    for (const Visit& visit : stack_) {
      inside = inside || visit.entity == callee;
      if (!inside) continue;
      FunctionEntity& entity = world_.functions[visit.entity];
      entity.bad = true;
      if (visit.entity != callee)
        error.notes.push_back({entity.decl->name_range, "by way of `" + entity.decl->name + "`"});
    }
  }

  World& world_;
  std::vector<int> state_;
  std::vector<size_t> depth_;  ///< depth of the calls below a function
  std::vector<Visit> stack_;
  std::vector<size_t> order_;
};

void note_instances(World& world) {
  for (size_t entity = 0; entity < world.functions.size(); ++entity) {
    const FunctionEntity& function = world.functions[entity];
    if (!function.decl->instance || !function.index) continue;
    ir::Function& entry = world.program.functions.own()[*function.index];
    entry.instance_of = function.decl->instance->plan;
    for (size_t each : instances(world, entity))
      if (const auto index = world.functions[each].index) entry.instances.push_back(*index);
  }
}

}  // namespace

std::vector<size_t> order_functions(World& world) {
  std::vector<size_t> order = Orderer(world).run();
  for (size_t entity : order) {
    FunctionEntity& function = world.functions[entity];
    if (function.generic || world.files[function.file].library) continue;
    add_padded_model(world, function);
    function.index = world.program.functions.size();
    ir::Function& entry = world.program.functions.own().emplace_back();
    const syntax::FunctionDecl& decl = *function.decl;
    entry.kind = decl.is_plan ? ir::Function::Kind::plan : ir::Function::Kind::fn;
    entry.name = decl.name;
    entry.trusted = decl.trusted;
    entry.name_range = decl.name_range;
    entry.range = decl.range;
    entry.source = decl.range.file;
    entry.imported = function.file + 1 != world.files.size();
    for (size_t i = 0; i < function.results.size(); ++i)
      for_each_leaf(function.results[i], [&](const Type& type, const std::string& path) {
        entry.results.push_back(type);
        const Name& name = function.result_names[i];
        const bool named = !name.empty() && !path.empty();
        entry.result_names.push_back(named ? name + "." + path : name.empty() ? path : name);
      });
    add_padded_claim(world, function);
  }
  note_instances(world);
  return order;
}

}  // namespace shardproof::resolution

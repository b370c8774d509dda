#include "spec/check/aligned.h"

#include <algorithm>

namespace shardproof {
namespace {

using syntax::Expr;
using Kind = Expr::Kind;

constexpr int edit = 10, another = 9, unlike = 1000;
constexpr int deepest = 100;
constexpr size_t most = 40'000;

bool is_call(const Expr& expr) {
  return expr.kind == Kind::call || expr.kind == Kind::grad || expr.kind == Kind::value_and_grad;
}

bool is_text(const Expr& expr) { return expr.kind == Kind::string || expr.kind == Kind::dtype; }

/// Arguments that are values: by name where one is written, else by position.
struct Argument {
  Name name;
  const Expr* value;
};

std::vector<Argument> values_of(const Expr& call) {
  std::vector<Argument> values;
  for (size_t i = 0; i < call.args.size(); ++i)
    if (!is_text(call.args[i]))
      values.push_back({i < call.arg_names.size() ? call.arg_names[i] : Name(), &call.args[i]});
  return values;
}

/// `B/d L M {U_t}` as `B L M`.
std::string without_axes(const std::string& pattern) {
  std::string plain;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '{') {
      i = std::min(pattern.find('}', i), pattern.size() - 1);
    } else if (pattern[i] == '/') {
      while (i + 1 < pattern.size() &&
             (std::isalnum(static_cast<unsigned char>(pattern[i + 1])) || pattern[i + 1] == '_'))
        ++i;
    } else if (pattern[i] != ' ' || (!plain.empty() && plain.back() != ' ')) {
      plain += pattern[i];
    }
  }
  while (!plain.empty() && plain.back() == ' ') plain.pop_back();
  return plain;
}

/// The patterns of a call; casts of the result are left out.
std::vector<std::string> patterns_of(const Expr& call) {
  std::vector<std::string> patterns;
  for (const Expr& each : call.args)
    if (each.kind == Kind::string) patterns.push_back(without_axes(each.text));
  return patterns;
}

int size_of(const Expr& expr) {
  int size = 1;
  for (const Expr& each : expr.args) size += size_of(each);
  return size;
}

Written part(const Written& of, const Expr& expr) { return {&expr, nullptr, of.scope, 0}; }

void add(Aligned& to, const Aligned& more) {
  to.cost = std::min(to.cost + more.cost, 100 * unlike);
  to.edits.insert(to.edits.end(), more.edits.begin(), more.edits.end());
}

void keep_better(Aligned& best, Aligned other) {
  if (other.cost < best.cost) best = std::move(other);
}

bool in_parentheses(const std::string& text) {
  int open = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    open += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (open == 0) return i > 0 && i + 1 == text.size();
  }
  return false;
}

std::string tight(const Expr& expr, const std::string& text) {
  return expr.kind == Kind::binary && !in_parentheses(text) ? "(" + text + ")" : text;
}

}  // namespace

std::string Alignment::text(const Expr& expr) const {
  return std::string(sources_.text(expr.range));
}

std::vector<Edit> Alignment::edits_of(const syntax::FunctionDecl& plan,
                                      const syntax::FunctionDecl& model, bool outermost) {
  outermost_ = outermost;
  known_.clear();
  const WrittenScope* own = functions_.scope_of(plan);
  const WrittenScope* other = functions_.scope_of(model);
  if (own->returned.size() != other->returned.size()) return {};
  Aligned all;
  for (size_t i = 0; i < own->returned.size(); ++i)
    add(all, of({own->returned[i], nullptr, own, 0}, {other->returned[i], nullptr, other, 0}, 0));
  if (spent_ > most) return {};
  std::vector<Edit> edits;
  for (Edit& each : all.edits)
    if (std::none_of(edits.begin(), edits.end(),
                     [&](const Edit& known) { return known.range == each.range; }))
      edits.push_back(std::move(each));
  return edits;
}

Aligned Alignment::of(const Written& plan, const Written& model, int depth) {
  const std::pair key{plan, model};
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  if (++spent_ > most || depth > deepest) return {unlike, {}};
  known_[key] = {unlike, {}};  // of itself
  return known_[key] = found(plan, model, depth);
}

Aligned Alignment::found(const Written& plan, const Written& model, int depth) {
  if (equal(plan, model, depth)) return {};
  if (const auto defined = alias(plan)) return of(*defined, model, depth + 1);
  const Written own = functions_.seen_through(plan), other = functions_.seen_through(model);
  Aligned best = alike(own, other, depth + 1);
  if (best.cost <= another) return best;
  if (!own.expr || !other.expr) return best;
  without_wrapper(own, other, depth + 1, best);
  with_wrapper(outermost_ && plan.expr ? plan : own, other, depth + 1, best);
  another_name(plan, model, depth + 1, best);
  const int whole = edit + 2 + 3 * size_of(*other.expr);
  if (whole < best.cost)
    if (const auto text = text_for(own, model, depth + 1))
      keep_better(best, {whole, {{own.expr->range, tight(*other.expr, *text)}}});
  return best;
}

/// What stands in `a = h` where `a` is read: nothing but its name is written there, so that its
/// definition is edited.
std::optional<Written> Alignment::alias(const Written& plan) {
  if (!plan.expr || plan.expr->kind != Kind::name) return std::nullopt;
  const WrittenName* name = find_name(plan.scope, plan.expr->text);
  if (!name || name->kind != WrittenName::Kind::value || !name->expr ||
      name->expr->kind != Kind::name)
    return std::nullopt;
  return Written{name->expr, nullptr, name->scope, name->number};
}

bool Alignment::same_leaf(const Written& plan, const Written& model) const {
  const Expr &own = *plan.expr, &other = *model.expr;
  if (own.text != other.text && own.kind != Kind::name) return false;
  const WrittenName* name = find_name(plan.scope, own.text);
  const WrittenName* meant = find_name(model.scope, other.text);
  if (!name || !meant) return !name && !meant && own.text == other.text;
  if (name->kind != meant->kind || name->number != meant->number) return false;
  return name->kind == WrittenName::Kind::parameter || name->scope->depth == meant->scope->depth;
}

bool Alignment::equal(const Written& plan, const Written& model, int depth) {
  const std::pair key{plan, model};
  if (const auto known = equal_.find(key); known != equal_.end()) return known->second;
  if (++spent_ > most || depth > deepest) return false;
  equal_[key] = false;
  const Written own = functions_.seen_through(plan), other = functions_.seen_through(model);
  if (own.loop || other.loop)
    return equal_[key] = own.loop && other.loop && loops(own, other, depth + 1).cost == 0;
  const Expr &a = *own.expr, &b = *other.expr;
  bool same = a.kind == b.kind && own.result == other.result;
  if (same && is_call(a)) {
    same = same_callee(a, b) && patterns_of(a) == patterns_of(b);
    const auto values = values_of(a), meant = values_of(b);
    same = same && values.size() == meant.size();
    for (size_t i = 0; same && i < values.size(); ++i)
      same = values[i].name == meant[i].name &&
             equal(part(own, *values[i].value), part(other, *meant[i].value), depth + 1);
  } else if (same && a.args.empty()) {
    same = same_leaf(own, other) && (a.kind != Kind::zeros || a.text == b.text);
  } else if (same) {
    same = a.text == b.text && a.args.size() == b.args.size();
    for (size_t i = 0; same && i < a.args.size(); ++i)
      same = equal(part(own, a.args[i]), part(other, b.args[i]), depth + 1);
  }
  if (!same && is_call(a) && !(is_call(b) && same_callee(a, b)))
    if (const auto body = functions_.inside(own)) same = equal(*body, other, depth + 1);
  if (!same && is_call(b) && !(is_call(a) && same_callee(a, b)))
    if (const auto body = functions_.inside(other)) same = equal(own, *body, depth + 1);
  return equal_[key] = same;
}

Aligned Alignment::alike(const Written& plan, const Written& model, int depth) {
  if (plan.loop || model.loop)
    return plan.loop && model.loop ? loops(plan, model, depth) : Aligned{unlike, {}};
  const Expr &own = *plan.expr, &other = *model.expr;
  Aligned best{unlike, {}};
  if (is_call(own) || is_call(other)) keep_better(best, calls(plan, model, depth));
  if (own.kind != other.kind || is_call(own)) return best;
  if (own.kind == Kind::binary) return binary(plan, model, depth);
  if (own.args.empty()) {
    const bool number = own.kind == Kind::number || own.kind == Kind::size;
    if (same_leaf(plan, model) && !number) return {};
    if (number)
      return own.text == other.text ? Aligned{} : Aligned{edit, {{own.range, text(other)}}};
    return best;
  }
  Aligned parts{own.text == other.text ? 0 : edit, {}};
  if (own.args.size() != other.args.size()) return best;
  if (parts.cost && own.kind == Kind::field)
    parts.edits.push_back(
        {{own.range.file, own.range.end - static_cast<uint32_t>(own.text.size()), own.range.end},
         other.text});
  else if (parts.cost)
    parts.cost = unlike;
  for (size_t i = 0; i < own.args.size(); ++i)
    add(parts, of(part(plan, own.args[i]), part(model, other.args[i]), depth));
  keep_better(best, std::move(parts));
  return best;
}

Aligned Alignment::loops(const Written& plan, const Written& model, int depth) {
  const syntax::Loop &own = *plan.loop, &other = *model.loop;
  if (own.kind != other.kind || own.reverse != other.reverse || plan.result != model.result ||
      own.carries.size() != other.carries.size() || own.dims != other.dims)
    return {unlike, {}};
  const WrittenScope* mine = functions_.scope_of_loop(own, *plan.scope);
  const WrittenScope* theirs = functions_.scope_of_loop(other, *model.scope);
  if (mine->returned.size() != theirs->returned.size()) return {unlike, {}};
  Aligned all;
  for (size_t i = 0; i < own.carries.size(); ++i)
    add(all, of(part(plan, own.carries[i].init), part(model, other.carries[i].init), depth));
  for (size_t i = 0; i < mine->returned.size(); ++i)
    if (i < own.carries.size() || i == plan.result)
      add(all, of({mine->returned[i], nullptr, mine, 0}, {theirs->returned[i], nullptr, theirs, 0},
                  depth));
  return all;
}

bool Alignment::same_callee(const Expr& plan, const Expr& model) const {
  if (plan.kind != model.kind || plan.each != model.each) return false;
  if (plan.text == model.text) return true;
  const syntax::FunctionDecl* own = functions_.find(plan.text);
  if (own) return own->implements && own->implements->model == model.text;
  const auto is_record = [](const Expr& call) { return std::isupper(call.text[0]) != 0; };
  return is_record(plan) && is_record(model);
}

Aligned Alignment::calls(const Written& plan, const Written& model, int depth) {
  Aligned best{unlike, {}};
  const bool both = is_call(*plan.expr) && is_call(*model.expr);
  if (both && plan.result == model.result) keep_better(best, arguments(plan, model, depth));
  if (both && same_callee(*plan.expr, *model.expr)) return best;
  if (const auto body = functions_.inside(plan)) keep_better(best, of(*body, model, depth));
  if (const auto body = functions_.inside(model)) keep_better(best, of(plan, *body, depth));
  return best;
}

Aligned Alignment::arguments(const Written& plan, const Written& model, int depth) {
  const Expr &own = *plan.expr, &other = *model.expr;
  Aligned all;
  if (!same_callee(own, other)) {
    // Another function of the library.
    if (own.kind != other.kind || own.each || other.each || functions_.find(own.text) ||
        functions_.find(other.text) || std::isupper(own.text[0]) || std::isupper(other.text[0]))
      return {unlike, {}};
    const SourceRange word{own.range.file, own.range.begin,
                           own.range.begin + static_cast<uint32_t>(own.text.size())};
    all = {edit, {{word, other.text}}};
  }
  if (patterns_of(own) != patterns_of(other)) all.cost += 3;
  const auto values = values_of(own), meant = values_of(other);
  std::vector<const Expr*> mine, theirs;
  const auto named = [](const std::vector<Argument>& list, const Name& name) -> const Expr* {
    for (const Argument& each : list)
      if (each.name == name) return each.value;
    return nullptr;
  };
  for (const Argument& each : values) {
    if (each.name.empty())
      mine.push_back(each.value);
    else if (const Expr* same = named(meant, each.name))
      add(all, of(part(plan, *each.value), part(model, *same), depth));
    else
      all.cost += edit;
  }
  for (const Argument& each : meant) {
    if (each.name.empty()) theirs.push_back(each.value);
    if (each.name.empty() || named(values, each.name)) continue;
    const auto text = text_for(plan, part(model, *each.value), depth);
    if (!text || own.args.empty()) return {unlike, {}};
    const SourceRange end{own.range.file, own.args.back().range.end, own.args.back().range.end};
    add(all, {edit, {{end, ", " + each.name + "=" + *text}}});
  }
  if (mine.size() != theirs.size()) return {unlike, {}};
  // What it costs to read the argument as another one of the model's, where no edit is needed.
  const auto unchanged = [&](size_t i, size_t j) {
    const Aligned read = of(part(plan, *mine[i]), part(model, *theirs[j]), depth);
    return read.edits.empty() ? read.cost : unlike;
  };
  Aligned in_order;
  for (size_t i = 0; i < mine.size(); ++i)
    add(in_order, of(part(plan, *mine[i]), part(model, *theirs[i]), depth));
  for (size_t i = 0; i < mine.size(); ++i)
    for (size_t j = i + 1; j < mine.size() && in_order.cost > another; ++j) {
      const int crossed = unchanged(i, j) + unchanged(j, i);
      if (crossed >= unlike) continue;
      Aligned swapped{another + crossed,
                      {{mine[i]->range, text(*mine[j])}, {mine[j]->range, text(*mine[i])}}};
      for (size_t k = 0; k < mine.size(); ++k)
        if (k != i && k != j)
          add(swapped, of(part(plan, *mine[k]), part(model, *theirs[k]), depth));
      keep_better(in_order, std::move(swapped));
    }
  add(all, in_order);
  return all;
}

Aligned Alignment::binary(const Written& plan, const Written& model, int depth) {
  const Expr &own = *plan.expr, &other = *model.expr;
  const auto pair = [&](size_t first, size_t second) {
    Aligned both = of(part(plan, own.args[0]), part(model, other.args[first]), depth);
    add(both, of(part(plan, own.args[1]), part(model, other.args[second]), depth));
    return both;
  };
  Aligned best = pair(0, 1);
  if (own.text == other.text && best.cost == 0) return best;
  const bool commutes = own.text == "+" || own.text == "*";
  if (own.text == other.text) {
    Aligned crossed = pair(1, 0);
    if (!commutes)
      add(crossed,
          {edit, {{own.args[0].range, text(own.args[1])}, {own.args[1].range, text(own.args[0])}}});
    keep_better(best, std::move(crossed));
    return best;
  }
  const SourceRange between{own.range.file, own.args[0].range.end, own.args[1].range.begin};
  std::string middle(sources_.text(between));
  const size_t at = middle.find(own.text);
  if (at == std::string::npos) return {unlike, {}};
  add(best, {edit, {{between, middle.replace(at, own.text.size(), other.text)}}});
  return best;
}

/// The plan has an operation too many.
void Alignment::without_wrapper(const Written& plan, const Written& model, int depth,
                                Aligned& best) {
  const Expr& own = *plan.expr;
  const bool wraps = own.kind == Kind::binary || own.kind == Kind::unary || own.kind == Kind::call;
  if (!wraps || functions_.find(own.text)) return;
  for (const Expr& each : own.args) {
    if (is_text(each)) continue;
    const int cost = edit + size_of(own) - size_of(each);
    if (cost >= best.cost) continue;
    Aligned inner = of(part(plan, each), model, depth);
    add(inner, {cost, {}});
    // Edits inside of the part are in its text.
    std::string kept = text(each);
    bool outside = false;
    std::sort(inner.edits.begin(), inner.edits.end(),
              [](const Edit& a, const Edit& b) { return a.range.begin > b.range.begin; });
    std::vector<Edit> edits;
    for (const Edit& edit : inner.edits) {
      const bool here = edit.range.file == each.range.file &&
                        edit.range.begin >= each.range.begin && edit.range.end <= each.range.end;
      if (here)
        kept.replace(edit.range.begin - each.range.begin, edit.range.end - edit.range.begin,
                     edit.text);
      else
        edits.push_back(edit),
            outside = outside || edit.range.file != own.range.file ||
                      (edit.range.begin < own.range.end && edit.range.end > own.range.begin);
    }
    if (outside) continue;
    edits.push_back({own.range, in_parentheses(text(own)) ? tight(each, kept) : kept});
    keep_better(best, {inner.cost, std::move(edits)});
  }
}

bool Alignment::stands_alone(const SourceRange& range) const {
  const std::string& text = sources_.file(range.file).text;
  size_t before = range.begin, after = range.end;
  while (before > 0 && text[before - 1] == ' ') --before;
  while (after < text.size() && text[after] == ' ') ++after;
  const char left = before == 0 ? ' ' : text[before - 1];
  const char right = after == text.size() ? '\n' : text[after];
  const bool opens =
      left == '(' || left == ',' || left == '=' || std::isalpha(static_cast<unsigned char>(left));
  return opens && std::string_view(",)\n#}").find(right) != std::string_view::npos;
}

/// A call, or an operation, of these operands.
std::string Alignment::written_as(const syntax::Expr& other, std::vector<std::string> texts,
                                  const SourceRange& at) const {
  if (other.kind == Kind::unary)
    return other.text + (other.text == "-" ? "" : " ") + tight(other.args[0], texts[0]);
  if (other.kind == Kind::binary) {
    const std::string whole = texts[0] + " " + other.text + " " + texts[1];
    return stands_alone(at) ? whole : "(" + whole + ")";
  }
  std::string list;
  for (size_t i = 0; i < texts.size(); ++i) {
    const Name& name = i < other.arg_names.size() ? other.arg_names[i] : Name();
    list += (i ? ", " : "") + (name.empty() ? "" : name + "=") + texts[i];
  }
  return (other.each ? "each " : "") + other.text + "(" + list + ")";
}

/// The model has an operation that the plan lacks.
void Alignment::with_wrapper(const Written& plan, const Written& model, int depth, Aligned& best) {
  const Expr &own = *plan.expr, &other = *model.expr;
  const bool wraps =
      other.kind == Kind::binary || other.kind == Kind::unary || other.kind == Kind::call;
  if (!wraps || functions_.find(other.text) || !patterns_of(other).empty()) return;
  for (size_t i = 0; i < other.args.size(); ++i) {
    if (is_text(other.args[i])) continue;
    const int cost = edit + size_of(other) - size_of(other.args[i]);
    if (cost >= best.cost || !equal(plan, part(model, other.args[i]), depth)) continue;
    std::vector<std::string> texts;
    for (size_t j = 0; j < other.args.size(); ++j) {
      const auto each =
          i == j ? std::optional(text(own)) : text_for(plan, part(model, other.args[j]), depth);
      if (!each) break;
      texts.push_back(*each);
    }
    if (texts.size() != other.args.size()) continue;
    if (other.kind == Kind::binary && other.text != "+") texts[i] = tight(own, texts[i]);
    keep_better(best, {cost, {{own.range, written_as(other, std::move(texts), own.range)}}});
  }
}

/// Another value of the plan is meant where this name is written.
void Alignment::another_name(const Written& plan, const Written& model, int depth, Aligned& best) {
  Written at = plan;
  while (at.expr && at.expr->kind != Kind::name) {
    const Written inner = functions_.seen_through({at.expr, nullptr, at.scope, 0});
    if (inner == at || at.expr->kind != Kind::cast) return;
    at = part(at, at.expr->args.at(0));
  }
  if (!at.expr || best.cost <= another) return;
  if (const auto name = name_for(at, model, depth))
    keep_better(best, {another, {{at.expr->range, *name}}});
  else if (model.expr && model.expr->kind == Kind::name && at.expr->text != model.expr->text &&
           find_name(at.scope, model.expr->text))
    keep_better(best, {2 * edit, {{at.expr->range, model.expr->text}}});
}

std::optional<Name> Alignment::name_for(const Written& at, const Written& model, int depth) {
  std::optional<Name> found;
  uint32_t newest = 0;
  for (const WrittenScope* scope = at.scope; scope; scope = scope->outer)
    for (const auto& [name, meant] : scope->names) {
      if (meant.begin >= at.expr->range.begin || (found && meant.begin < newest)) continue;
      if (meant.kind != WrittenName::Kind::value || (!meant.expr && !meant.loop)) continue;
      if (++spent_ > most) return std::nullopt;
      if (!equal({meant.expr, meant.loop, meant.scope, meant.number}, model, depth)) continue;
      found = name;
      newest = meant.begin;
    }
  return found;
}

std::optional<std::string> Alignment::text_for(const Written& at, const Written& model, int depth) {
  // Names are written out, which doubles where each is read twice.
  if (depth > deepest || !model.expr || ++spent_ > most) return std::nullopt;
  if (const auto name = name_for(at, model, depth)) return name;
  const Expr& other = *model.expr;
  const auto inner = [&](const Expr& each) { return text_for(at, part(model, each), depth + 1); };
  switch (other.kind) {
    case Kind::number:
    case Kind::boolean:
    case Kind::size:
      return other.text.empty() ? std::nullopt : std::optional(text(other));
    case Kind::name: {
      const WrittenName* meant = find_name(model.scope, other.text);
      if (meant && meant->kind == WrittenName::Kind::value)
        return text_for(at, {meant->expr, meant->loop, meant->scope, meant->number}, depth + 1);
      if (!meant) return other.text;
      const WrittenName* own = find_name(at.scope, other.text);
      return own && own->kind == meant->kind ? std::optional(other.text) : std::nullopt;
    }
    case Kind::field:
      if (const auto of = inner(other.args[0])) return *of + "." + other.text;
      return std::nullopt;
    case Kind::unary:
      if (const auto of = inner(other.args[0]))
        return other.text + (other.text == "-" ? "" : " ") + *of;
      return std::nullopt;
    case Kind::binary: {
      const auto left = inner(other.args[0]), right = inner(other.args[1]);
      if (!left || !right) return std::nullopt;
      const std::string whole = *left + " " + other.text + " " + *right;
      return in_parentheses(text(other)) ? "(" + whole + ")" : whole;
    }
    case Kind::call: {
      if (functions_.find(other.text)) return std::nullopt;
      std::string list;
      for (size_t i = 0; i < other.args.size(); ++i) {
        const auto each = is_text(other.args[i]) ? std::nullopt : inner(other.args[i]);
        if (!each) return std::nullopt;
        const Name& name = i < other.arg_names.size() ? other.arg_names[i] : Name();
        list += (i ? ", " : "") + (name.empty() ? "" : name + "=") + *each;
      }
      return other.text + "(" + list + ")";
    }
    case Kind::string:
    case Kind::cast:
    case Kind::dtype:
    case Kind::zeros:
    case Kind::grad:
    case Kind::value_and_grad:
    case Kind::entry:
      break;
  }
  return std::nullopt;
}

}  // namespace shardproof

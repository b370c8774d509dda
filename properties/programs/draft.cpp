#include "properties/programs/draft.h"

#include <algorithm>
#include <tuple>

namespace shardproof::programs {

Drafted Draft::param(const Layout& layout, const std::string& dtype) {
  const Word name = (dtype == "f32" ? "x" : "ids") + std::to_string(params_.size());
  params_.push_back({name, dtype, layout});
  Drafted x{name, name, layout, {1, {}}, 0, dtype != "f32"};
  if (layout.has('U')) x.size.log2 = 9;  // its summands are larger than it is
  return x;
}

Drafted Draft::value(std::string model, std::string plan, Layout layout,
                     const std::vector<const Drafted*>& from, const std::string& before,
                     const std::string& after) {
  const Word name = "v" + std::to_string(names_++);
  std::vector<Word> models, plans;
  models.reserve(from.size());
  plans.reserve(from.size());
  Drafted result{name, name, std::move(layout), {}, 0, true};
  for (const Drafted* each : from) {
    models.push_back(each->model);
    plans.push_back(each->plan);
    result.fraction = std::max(result.fraction, each->fraction);
    result.free = result.free && each->free;
  }
  model_.push_back({name, std::move(model), std::move(models), before, after});
  plan_.push_back({name, std::move(plan), std::move(plans), before, after});
  return result;
}

void Draft::move_to(Drafted& x, const std::string& op, Layout layout, const std::string& more) {
  Word name = "m" + std::to_string(moved_++);
  std::string text = op + "(\"" + x.layout.text();
  text.append(" -> ").append(layout.text()).append("\", ").append(x.plan).append(more) += ')';
  plan_.push_back({name, std::move(text), {std::move(x.plan)}});
  x.plan = std::move(name);
  x.layout = std::move(layout);
}

void Draft::gather(Drafted& x, const Word& dim, bool invariant) {
  Layout to = x.layout;
  const char axis = to.find(dim)->axes.back();
  to.find(dim)->axes.pop_back();
  if (invariant) to.marks[axis] = 'I';
  move_to(x, "all_gather", std::move(to));
}

void Draft::slice(Drafted& x, const Word& dim, char axis) {
  Layout to = x.layout;
  to.marks.erase(axis);
  to.find(dim)->axes.push_back(axis);
  move_to(x, "slice", std::move(to));
}

void Draft::move(Drafted& x, const Word& from, const Word& dim) {
  Layout to = x.layout;
  to.find(dim)->axes.push_back(to.find(from)->axes.back());
  to.find(from)->axes.pop_back();
  move_to(x, "all_to_all", std::move(to));
}

void Draft::reduce(Drafted& x, char axis, bool invariant) {
  Layout to = x.layout;
  to.marks.erase(axis);
  if (invariant) to.marks[axis] = 'I';
  move_to(x, "all_reduce", std::move(to));
}

void Draft::scatter(Drafted& x, char axis, const Word& dim) {
  Layout to = x.layout;
  to.marks.erase(axis);
  to.find(dim)->axes.push_back(axis);
  move_to(x, "psum_scatter", std::move(to));
}

void Draft::fan_out(Drafted& x, char axis) {
  Layout to = x.layout;
  to.marks.erase(axis);
  move_to(x, "fan_out", std::move(to));
}

void Draft::keep_one(Drafted& x, char axis) {
  Layout to = x.layout;
  to.marks[axis] = 'U';
  move_to(x, "zero_nonroot", std::move(to));
}

void Draft::pad(Drafted& x, const Word& dim) {
  Layout to = x.layout;
  to.marks[to.find(dim)->axes.back()] = 'U';
  to.find(dim)->axes.pop_back();
  move_to(x, "zero_pad", std::move(to));
}

void Draft::pass_round(Drafted& x, const Word& dim) {
  const std::string pattern = x.layout.text(dim);
  for (const char* by : {"1", "-1"}) {
    const Word name = "m" + std::to_string(moved_++);
    plan_.push_back(
        {name,
         "ppermute(\"" + pattern + " -> " + pattern + "\", " + x.plan + ", by=" + by + ")",
         {x.plan}});
    x.plan = name;
  }
}

void Draft::save(Drafted& x) {
  const Word name = "m" + std::to_string(moved_++);
  plan_.push_back({name, "save(" + x.plan + ")", {x.plan}});
  x.plan = name;
}

void Draft::replicate(Drafted& x, char axis) {
  const char state = x.layout.state(axis);
  if (state == 'U' || state == 'M') reduce(x, axis);
  if (state == 'I') fan_out(x, axis);
  if (state != 'S') return;
  const Word dim = x.layout.holder(axis)->dim;
  while (x.layout.holder(axis)) gather(x, dim);
}

void Draft::whole(Drafted& x, const Word& dim) {
  while (!x.layout.find(dim)->axes.empty()) gather(x, dim);
}

void Draft::relayout(Drafted& x, const Word& dim, const Letters& axes) {
  const auto own = [&]() -> const Letters& { return x.layout.find(dim)->axes; };
  while (own().size() > axes.size() || !std::equal(own().begin(), own().end(), axes.begin()))
    gather(x, dim);
  while (own().size() < axes.size()) {
    const char axis = axes[own().size()];
    const Piece* holder = x.layout.holder(axis);
    const char state = x.layout.state(axis);
    if (holder && holder->axes.back() == axis) {
      move(x, Word(holder->dim), dim);
    } else if (state == 'U') {
      scatter(x, axis, dim);
    } else {
      if (state == 'S' || state == 'M') replicate(x, axis);
      slice(x, dim, axis);
    }
  }
}

void Draft::clear(Drafted& x, char mark) {
  for (char axis : mesh_)
    if (x.layout.state(axis) == mark) replicate(x, axis);
}

void Draft::agree(Drafted& a, Drafted& b, Mixing mixing, Coins& coins) {
  clear(a, 'M');
  clear(b, 'M');
  // By value: relayout changes what it is read from.
  const std::vector<Piece> dims = a.layout.dims;
  for (const Piece& piece : dims) {
    if (!b.layout.find(piece.dim)) continue;
    if (coins.one_in(4)) {
      whole(a, piece.dim);
      whole(b, piece.dim);
    } else {
      relayout(b, piece.dim, Letters(a.layout.find(piece.dim)->axes));
    }
  }
  // A later dim may have taken an axis of an earlier one.
  for (const Piece& piece : dims)
    if (b.layout.find(piece.dim) &&
        a.layout.find(piece.dim)->axes != b.layout.find(piece.dim)->axes) {
      whole(a, piece.dim);
      whole(b, piece.dim);
    }
  for (char axis : mesh_) agree_on(axis, a, b, mixing, coins);
}

void Draft::agree_on(char axis, Drafted& a, Drafted& b, Mixing mixing, Coins& coins) {
  const auto states = [&] { return std::pair(a.layout.state(axis), b.layout.state(axis)); };
  auto [sa, sb] = states();
  if (sa == 'S' && sb == 'S') {
    if (a.layout.holder(axis)->dim == b.layout.holder(axis)->dim) return;
    replicate(coins.one_in(2) ? a : b, axis);
  } else if (sa == 'S' || sb == 'S') {
    replicate(sa == 'S' ? b : a, axis);
  }
  std::tie(sa, sb) = states();
  if (sa == 'S' || sb == 'S') return;
  if (mixing == Mixing::product && sa == 'U' && sb == 'U') reduce(coins.one_in(2) ? a : b, axis);
  std::tie(sa, sb) = states();
  if (mixing == Mixing::sum && (sa == 'U') != (sb == 'U')) {
    Drafted& other = sa == 'U' ? b : a;
    if (coins.one_in(3))
      reduce(sa == 'U' ? a : b, axis);
    else
      keep_one(other, axis);
  }
  std::tie(sa, sb) = states();
  if (sa == 'I' && sb != 'I') fan_out(a, axis);
  if (sb == 'I' && sa != 'I') fan_out(b, axis);
}

std::vector<Line> Draft::needed(std::vector<Line>& lines, const Word& result) {
  std::vector<std::string_view> wanted{result};
  std::vector<bool> needed(lines.size());
  for (size_t i = lines.size(); i-- > 0;) {
    needed[i] = std::find(wanted.begin(), wanted.end(), lines[i].name) != wanted.end();
    if (needed[i]) wanted.insert(wanted.end(), lines[i].uses.begin(), lines[i].uses.end());
  }
  std::vector<Line> kept;
  kept.reserve(lines.size());
  for (size_t i = 0; i < lines.size(); ++i)
    if (needed[i]) kept.push_back(std::move(lines[i]));
  return kept;
}

}  // namespace shardproof::programs

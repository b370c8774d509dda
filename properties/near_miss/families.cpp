// What near misses are made of: each family draws one right plan.
#include "properties/near_miss/source.h"

namespace shardproof::near_miss {
namespace {

std::string several(Source& source, std::vector<std::string> names, int lines,
                    const std::string& last) {
  std::string body;
  for (int i = 0; i < lines; ++i) {
    const std::string name = "v" + std::to_string(i);
    // The name itself stands in it, so that the expression has its dims.
    body += "    " + name + " = " + names.back() + " + " + expression(source, names, 2) + "\n";
    names.push_back(name);
  }
  return body + "    return " + names.back() + last + "\n";
}

}  // namespace

Draft pointwise(Source& source) {
  const std::string body = several(source, {"x", "y", "z"}, source.number(1, 3), " * x");
  return {"mesh t d\ndim A\n",
          "x y z: f32[A]",
          "x y z: f32[A/t]",
          "f32[A]",
          "f32[A/t]",
          body,
          body,
          {}};
}

Draft slices(Source& source) {
  const std::string n = std::to_string(source.number(0, 3)),
                    m = std::to_string(source.number(0, 3));
  const std::vector<std::string> lines{
      "read(\"[K] B -> B\", x, at=" + n + ")",
      "read(\"[K] B -> two B\", x, at=" + std::to_string(source.number(0, 2)) + ")",
      "roll(\"[K] B\", x, by=" + n + ")",
      "roll(\"[K] B\", x, by=" + n + " - |K|)",
      "rev(\"[K] B\", x)",
      "where(iota(\"K B; K\") < " + n + ", x, " + m + " * x)",
      "where(iota(\"K B; K\") + " + m + " >= " + n + ", x, 0)",
      "where(iota(\"K B; K\") % 2 == " + n + " % 2, x, -x)",
      "cumsum(\"K B; K\", x)",
      "write(\"[K] B, B -> K B\", x, y, at=" + n + ")",
      "index(\"[K] B, C -> C B\", x, ids)",
      "index(\"[K] B, C -> C B\", x, (ids + " + n + ") % |K|)",
      "index_add(\"C, C B -> [K] B\", ids, z)",
      "concat(\"K B, K B -> [two] K B\", x, 2 * x)"};
  std::string first = source.of(lines), second = source.of(lines);
  const auto squared = [&](const std::string& name, const std::string& value) {
    const bool one = value.find("-> B\"") != std::string::npos;
    const bool two = value.find("-> two B") != std::string::npos;
    const bool rows = value.find("-> C B") != std::string::npos;
    const bool pile = value.find("[two] K B") != std::string::npos;
    const std::string dims = one ? "B" : two ? "two B" : rows ? "C B" : pile ? "two K B" : "K B";
    return "    " + name + " = " + value + "\n    " + name + "s = sum(\"" + dims + " -> B\", " +
           (one ? "expand(\"B -> B one\", " + name + ")" : name) + " * " +
           (one ? "expand(\"B -> B one\", " + name + ")" : name) + ")\n";
  };
  std::string text = squared("u", first) + squared("w", second);
  for (size_t at; (at = text.find("\"B -> B\", expand")) != std::string::npos;)
    text.replace(at, 8, "\"B one -> B\"");
  text += "    return us + " + m + " * ws - y\n";
  return {"mesh t d\ndim B C\ndim K = 4\ndim two = 2\ndim one = 1\n",
          "x: f32[K B], y: f32[B], z: f32[C B], ids: i32[C]",
          "x: f32[K B], y: f32[B], z: f32[C B], ids: i32[C]",
          "f32[B]",
          "f32[B]",
          text,
          text,
          {"K", "B", "C"}};
}

Draft contractions(Source& source) {
  // w: f32[H], s: f32[K], q: f32[D]; H = (K D).
  const std::vector<std::string> lines{"einsum(\"B H, H -> B H\", x, w)",
                                       "einsum(\"B H, K -> B H\", x, s)",
                                       "einsum(\"B H, D -> B H\", x, q)",
                                       "einsum(\"B (K D), K -> B (K D)\", x, s)",
                                       "einsum(\"B K D, K -> B D\", x, s)",
                                       "einsum(\"B K D, D -> B K\", x, q)",
                                       "einsum(\"B H, B H -> B H\", x, x)",
                                       "einsum(\"B H, S D -> B K S\", x, p)",
                                       "einsum(\"B H, K, D -> B\", x, s, q)",
                                       "sum(\"B K D -> B K\", x)",
                                       "sum(\"B H -> B\", x)",
                                       "max(\"B K D -> B D\", x)",
                                       "rearrange(\"B (K D) -> B K D\", x)",
                                       "rearrange(\"B (K D) -> B D K\", x)",
                                       "rearrange(\"B (K D) -> B (D K)\", x)",
                                       "expand(\"B H -> B S H\", x)"};
  const auto square = [](const std::string& name, const std::string& value) {
    const size_t arrow = value.find("-> ") + 3;
    const std::string dims = value.substr(arrow, value.find('"', arrow) - arrow);
    return "    " + name + " = " + value + "\n    " + name + "s = einsum(\"" + dims + ", " + dims +
           " -> B\", " + name + ", " + name + ")\n";
  };
  const std::string body =
      square("u", source.of(lines)) + square("v", source.of(lines)) + "    return us + 2 * vs\n";
  return {"mesh t d\ndim B K D S\ndim H = (K D)\n",
          "x: f32[B H], w: f32[H], s: f32[K], q: f32[D], p: f32[S D]",
          "x: f32[B H], w: f32[H], s: f32[K], q: f32[D], p: f32[S D]",
          "f32[B]",
          "f32[B]",
          body,
          body,
          {"K", "D", "H", "S", "B"}};
}

Draft aliases(Source& source) {
  const std::vector<std::string> lines{
      "rearrange(\"S T -> T S\", x)",
      "rearrange(\"S T -> P S\", x)",
      "rearrange(\"P Q -> P Q\", x)",
      "rearrange(\"P Q -> Q P\", x)",
      "einsum(\"S T -> T S\", x)",
      "einsum(\"S T, T P -> S P\", x, rearrange(\"S T -> T P\", x))",
      "einsum(\"S T, S -> S T\", x, y)",
      "einsum(\"S T, T -> S T\", x, z)",
      "einsum(\"P Q, P -> P Q\", x, rearrange(\"S -> P\", y))",
      "softmax(\"S T; T\", x)",
      "softmax(\"S T; S\", x)",
      "softmax(\"P Q; P\", x)",
      "einsum(\"S T, S, T -> S T\", x, y, z)",
      "where(iota(\"S T; S\") <= iota(\"S T; T\"), x, 0)",
      "cumsum(\"S T; T\", x)",
      "cumsum(\"S T; S\", x)"};
  const auto reduced = [&](const std::string& name, const std::string& value) {
    const size_t arrow = value.rfind("-> ");
    const bool shown = arrow != std::string::npos;
    std::string dims = shown ? value.substr(arrow + 3, value.find('"', arrow) - arrow - 3) : "S T";
    if (value.rfind("softmax(\"P", 0) == 0) dims = "P Q";
    if (value.find("P S\", x, rearrange") != std::string::npos ||
        value.find("S P\", x, rearrange") != std::string::npos)
      dims = "S P";
    if (value.find("P Q, P -> P Q") != std::string::npos) dims = "P Q";
    const std::string first = dims.substr(0, dims.find(' '));
    return "    " + name + " = " + value + "\n    " + name + "s = einsum(\"" + dims + ", " + first +
           " -> " + "\", " + name + ", rearrange(\"S -> " + first + "\", y))\n";
  };
  std::string body =
      reduced("u", source.of(lines)) + reduced("v", source.of(lines)) + "    return us + 3 * vs\n";
  for (size_t at; (at = body.find("rearrange(\"S -> S\", y)")) != std::string::npos;)
    body.replace(at, 22, "y");
  return {"mesh t d\ndim L\ndim S T P Q = L\n",
          "x: f32[S T], y: f32[S], z: f32[T]",
          "x: f32[S T], y: f32[S], z: f32[T]",
          "f32[]",
          "f32[]",
          body,
          body,
          {"S", "T", "P", "Q"}};
}

Draft scans(Source& source) {
  const std::string step = expression(source, {"a", "b", "x[n]"}, 2);
  const std::string other = expression(source, {"a", "b", "y[n]"}, 1);
  const std::string reverse = source.one_in(3) ? " reverse" : "";
  std::string body = "    p, q, ps = scan n in N" + reverse +
                     ", a: f32[] = z, b: f32[] = 1.0 * z {\n        c = a + " + step +
                     "\n        emit c * a\n        next c, b + 0.5 * " + other + "\n    }\n";
  if (source.one_in(2))
    body += "    r = scan k in N, e: f32[] = p {\n        next e + ps[k] * x[k]\n    }\n";
  else
    body += "    r = p + sum(\"N -> \", ps)\n";
  body += "    return r + 2 * q\n";
  return {"mesh t d\ndim N\n",
          "x y: f32[N], z: f32[]",
          "x y: f32[N], z: f32[]",
          "f32[]",
          "f32[]",
          body,
          body,
          {}};
}

Draft collectives(Source& source) {
  const std::string chain = expression(source, {"x", "y"}, 2);
  Draft draft{"mesh t d\ndim A B\n",
              "x y: f32[A B], s: f32[A]",
              "x y: f32[A/t B/d], s: f32[A/t]",
              "f32[A]",
              "f32[A/t]",
              {},
              {},
              {"A", "B"}};
  const std::string head = "    u = x + " + chain + "\n";
  switch (source.below(4)) {
    case 0:
      draft.body = head +
                   "    m = sum(\"A B -> A\", u) / |B|\n    c = u - expand(\"A -> A B\", m)\n"
                   "    return s * sum(\"A B -> A\", c * c) / |B| + m\n";
      draft.plan_body =
          head +
          "    m = all_reduce(\"A/t {U_d} -> A/t\", sum(\"A/t B/d -> A/t {U_d}\", u)) / |B|\n"
          "    c = u - expand(\"A/t -> A/t B/d\", m)\n"
          "    return s * all_reduce(\"A/t {U_d} -> A/t\", sum(\"A/t B/d -> A/t {U_d}\", c * c)) / "
          "|B| + m\n";
      break;
    case 1:
      draft.body = head + "    g = sum(\"A B -> \", u) / (|A| * |B|)\n    return s * g + s\n";
      draft.plan_body =
          head +
          "    g = all_reduce(\"{U_t U_d} -> \", sum(\"A/t B/d -> {U_t U_d}\", u)) / (|A| * |B|)\n"
          "    return s * g + s\n";
      break;
    case 2:
      draft.body = head +
                   "    m = max(\"A B -> A\", u)\n    e = exp(u - expand(\"A -> A B\", m))\n"
                   "    return s * m + log(sum(\"A B -> A\", e))\n";
      draft.plan_body =
          head +
          "    m = all_reduce(\"A/t {Max_d} -> A/t\", max(\"A/t B/d -> A/t {Max_d}\", u))\n"
          "    e = exp(u - expand(\"A/t -> A/t B/d\", m))\n"
          "    return s * m + log(all_reduce(\"A/t {U_d} -> A/t\", sum(\"A/t B/d -> A/t {U_d}\", "
          "e)))\n";
      break;
    default:
      draft.body =
          head +
          "    h = einsum(\"A B, A -> B\", u, s)\n    return s + einsum(\"A B, B -> A\", x, "
          "h) * 2\n";
      draft.plan_body =
          head +
          "    h = all_reduce(\"B/d {U_t} -> B/d\", einsum(\"A/t B/d, A/t -> B/d {U_t}\", u, s))\n"
          "    o = einsum(\"A/t B/d, B/d -> A/t {U_d}\", x, h)\n"
          "    return s + all_reduce(\"A/t {U_d} -> A/t\", o) * 2\n";
  }
  return draft;
}

namespace {

/// A step that is the same text on shards but for `before`, which brings the gradient there.
Draft step(const std::string& params, const std::string& plan_params, const std::string& before,
           const std::string& plan_before, const std::string& body) {
  return {"mesh t d\ndim A N\n", params, plan_params, "f32[A]", "f32[A/t]", before + body,
          plan_before + body,    {}};
}

Draft adamw(const std::string& decay) {
  const std::string body =
      "    k = g * minimum(1, c / (sqrt(n2) + 0.001))\n"
      "    m1 = b1 * m + (1 - b1) * k\n    v1 = b2 * v + (1 - b2) * k * k\n"
      "    u = m1 / (sqrt(v1 + 0.01) + 0.01)\n    return w - lr * (u + " +
      decay + " * w)\n";
  return step(
      "w m v g: f32[A], lr b1 b2 c: f32[]", "w m v g: f32[A/t], lr b1 b2 c: f32[]",
      "    require b1 >= 0\n    n2 = sum(\"A -> \", g * g)\n",
      "    require b1 >= 0\n    n2 = all_reduce(\"{U_t} -> \", sum(\"A/t -> {U_t}\", g * g))\n",
      body);
}

Draft clipped_by_both(const std::string& decay) {
  return step("w g: f32[A], h: f32[N], lr c: f32[]", "w g: f32[A/t], h: f32[N/d], lr c: f32[]",
              "    n2 = sum(\"A -> \", g * g) + sum(\"N -> \", h * h)\n",
              "    n2 = all_reduce(\"{U_t} -> \", sum(\"A/t -> {U_t}\", g * g)) + "
              "all_reduce(\"{U_d} -> \", sum(\"N/d -> {U_d}\", h * h))\n",
              "    return w - lr * g * minimum(1, c / (sqrt(n2) + " + decay + "))\n");
}

Draft descent(const std::string& decay) {
  return step("w g: f32[A], lr: f32[]", "w: f32[A/t], g: f32[A/t]{U_d}, lr: f32[]", "    k = g\n",
              "    k = all_reduce(\"A/t {U_d} -> A/t\", g)\n",
              "    return w - lr * (k + " + decay + " * w)\n");
}

Draft momentum(const std::string& damping) {
  return step(
      "w v g: f32[A], lr mu: f32[]", "w v g: f32[A/t], lr mu: f32[]", "", "",
      "    v1 = mu * v + (1 - " + damping + ") * g\n    u = g + mu * v1\n    return w - lr * u\n");
}

Draft accumulation(const std::string& decay) {
  return step("w: f32[A], gs: f32[N A], lr: f32[]", "w: f32[A/t], gs: f32[N A/t], lr: f32[]",
              "    g = sum(\"N A -> A\", gs)\n",
              "    g = scan k in N, a: f32[A/t] = 0 * w {\n        next a + gs[k]\n    }\n",
              "    return w - lr * (g / |N| + " + decay + " * w)\n");
}

/// ZeRO: a shard of the gradient and of the moment, and of the weights as they come and go.
Draft sharded_state(const std::string& decay) {
  const std::string update =
      "    m1 = b1 * m + (1 - b1) * k\n    u = s - lr * (m1 + " + decay + " * s)\n";
  return {"mesh t d\ndim A N\n",
          "w m g: f32[A], lr b1: f32[]",
          "w: f32[A], m: f32[A/d], g: f32[A]{U_d}, lr b1: f32[]",
          "f32[A]",
          "f32[A]",
          "    k = g\n    s = w\n" + update + "    return u\n",
          "    k = psum_scatter(\"A {U_d} -> A/d\", g)\n    s = slice(\"A -> A/d\", w)\n" + update +
              "    return all_gather(\"A/d -> A\", u)\n",
          {}};
}

}  // namespace

Draft optimizers(Source& source) {
  static constexpr Draft (*templates[])(const std::string&) = {
      adamw, clipped_by_both, descent, momentum, accumulation, sharded_state};
  const std::string number = source.of({"0.1", "0.01", "0.5"});
  return templates[source.below(std::size(templates))](number);
}

}  // namespace shardproof::near_miss

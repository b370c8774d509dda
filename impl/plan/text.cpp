#include "impl/plan/text.h"

#include <algorithm>
#include <utility>

#include "impl/plan/op_text.h"

namespace shardproof::plan {
namespace {

/// A buffer's declaration, as most of its readers use it.
struct Declared {
  std::optional<Element> element;
  std::vector<int64_t> extents;
  bool whole = false;  ///< the extents cover the whole buffer
};

bool covers(const Ref& ref, const Piece& piece) {
  const size_t bytes = static_cast<size_t>(ref.count()) * size_of(ref.element);
  return ref.offset == 0 && ref.terms.empty() && ref.contiguous() &&
         (piece.bytes == 0 || bytes == piece.bytes);
}

/// The output and the inputs as the kernel's loops traverse them: broadcast, or in another order.
std::vector<Ref> walked(const Kernel& kernel) {
  std::vector<Ref> all{kernel.out};
  all.insert(all.end(), kernel.inputs.begin(), kernel.inputs.end());
  const auto* copy = std::get_if<Copy>(&kernel.op);
  const auto* chain = std::get_if<Pointwise>(&kernel.op);
  if (!chain && (!copy || copy->moving)) return all;
  const Nest& nest = chain ? chain->nest : copy->nest;
  for (size_t k = 0; k < all.size(); ++k) {
    const Nest loops = coalesced({nest.extents, {nest.strides.at(k)}});
    const Nest own = coalesced({all[k].extents, {all[k].strides}});
    if (loops.extents == own.extents && loops.strides == own.strides) continue;
    all[k].extents = loops.extents;
    all[k].strides = loops.strides[0];
  }
  return all;
}

class PlanWriter {
 public:
  PlanWriter(const std::vector<Step>& steps, const std::vector<Piece>& pieces, const Names& names)
      : pieces_(pieces), names_(names), declared_(pieces.size()), is_given_(pieces.size()) {
    for (const auto* all : {&names.in, &names.out})
      for (const Names::Given& each : *all) {
        declared_.at(each.buffer) = {each.element, each.extents, true};
        is_given_[each.buffer] = true;
        if (!each.name.empty()) given_.emplace(each.buffer, each.name);
      }
    declare(names.first);
    declare(steps);
  }

  std::string all(const std::vector<Step>& steps) {
    header();
    if (!names_.first.empty()) text_ += "steps of the first run\n";
    block(names_.first, "  ");
    text_ += "steps\n";
    block(steps, "  ");
    given("in", names_.in);
    given("out", names_.out);
    const BufferUses first(names_.first);
    const auto kept = [&](BufferId id) { return first.writes_of(id) > 0; };
    if (!names_.first.empty()) memory("kept from the first run", kept);
    memory(names_.arena ? "arena of " + std::to_string(*names_.arena) + " B" : "buffers",
           [&](BufferId id) { return !kept(id); });
    return std::move(text_);
  }

  /// The text of one step, without its body.
  std::string line(const Step& step) const {
    if (step.is_loop)
      return "for " + index_of(step.loop) + " in " + (step.reverse ? "reversed " : "") + "0.." +
             std::to_string(step.times) + ":";
    std::string to, how;
    if (step.kernel) {
      const std::vector<Ref> all = walked(*step.kernel);
      to = view(all[0]);
      how = text_of(step.kernel->op, views({all.begin() + 1, all.end()}));
    } else if (step.fused) {
      to = joined(views(step.fused->outputs));
      how = text_of(step.fused->op, views(step.fused->inputs));
    } else if (step.exchange) {
      to = view(step.exchange->receive);
      how = exchange(*step.exchange, step.op);
      if (step.writes.empty()) return how;
    } else {
      to = buffers(step.writes);
      how = step.op + "(" + buffers(step.reads) + ")";
    }
    return to + " = " + how;
  }

 private:
  void declare(const std::vector<Step>& steps) {
    const auto see = [&](const Ref& ref) {
      if (ref.buffer >= declared_.size()) return;
      Declared& own = declared_[ref.buffer];
      if (own.whole) return;
      own.whole = covers(ref, pieces_[ref.buffer]);
      if (own.whole || !own.element) own.element = ref.element;
      if (own.whole) own.extents = ref.extents;
    };
    for (const Step& step : steps) {
      for_each_ref(step, see);
      if (step.exchange) {
        see(step.exchange->receive);
        see(step.exchange->send);
      }
      declare(step.body);
    }
  }

  static std::string index_of(size_t loop) { return "i" + std::to_string(loop); }
  std::string id(BufferId buffer) const {
    const auto found = given_.find(buffer);
    return found == given_.end() ? "%" + std::to_string(buffer) : found->second;
  }

  static std::string joined(const std::vector<std::string>& texts) {
    std::string text;
    for (const std::string& each : texts) text += (text.empty() ? "" : ", ") + each;
    return text;
  }

  std::string buffers(const std::vector<BufferId>& ids) const {
    std::vector<std::string> texts;
    for (BufferId each : ids) texts.push_back(id(each));
    return joined(texts);
  }

  std::string declaration(BufferId buffer) const {
    const Declared& own = declared_.at(buffer);
    if (!own.element) return "";
    size_t bytes = size_of(*own.element);
    for (int64_t extent : own.extents) bytes *= static_cast<size_t>(extent);
    return std::string(" ") + name_of(*own.element) + (own.whole ? list_text(own.extents) : "") +
           " " + std::to_string(own.whole ? bytes : pieces_[buffer].bytes) + " B";
  }

  static std::string dims_text(const Ref& ref) {
    std::string text;
    int64_t expected = 1;
    for (size_t i = ref.extents.size(); i-- > 0;) {
      const bool plain = ref.extents[i] == 1 || ref.strides[i] == expected;
      expected *= ref.extents[i];
      text = std::to_string(ref.extents[i]) + (plain ? "" : ":" + std::to_string(ref.strides[i])) +
             (text.empty() ? "" : " ") + text;
    }
    return text;
  }

  /// `32+8*i0`; empty for 0.
  static std::string affine(int64_t offset, const std::vector<Ref::Term>& terms) {
    std::string text = offset ? std::to_string(offset) : "";
    for (const Ref::Term& term : terms)
      text += (text.empty() ? "" : "+") + std::to_string(term.stride) + "*" + index_of(term.loop);
    return text;
  }

  std::string view(const Ref& ref) const {
    const Declared& own = declared_.at(ref.buffer);
    const std::string dims = dims_text(ref), offset = affine(ref.offset, ref.terms);
    std::string text = id(ref.buffer);
    if (!offset.empty())
      text += "[" + dims + (dims.empty() ? "@" : " @") + offset + "]";
    else if (!own.whole || !ref.contiguous() || ref.extents != own.extents)
      text += "[" + dims + "]";
    return text + (own.element == ref.element ? "" : std::string(":") + name_of(ref.element));
  }

  std::vector<std::string> views(const std::vector<Ref>& refs) const {
    std::vector<std::string> texts;
    for (const Ref& each : refs) texts.push_back(view(each));
    return texts;
  }

  std::string shift(const Whole& by) const {
    if (by.known) return std::to_string(*by.known);
    if (!by.index) return view(by.ref);
    const std::string text = affine(by.index->offset, by.index->terms);
    return text.empty() ? "0" : text;
  }

  std::string exchange(const Exchange& exchange, const std::string& op) const {
    const bool receives = exchange.collective == Collective::send && exchange.position == 1;
    std::string text =
        op + "(" + (receives ? "" : view(exchange.send)) + ") g" + std::to_string(exchange.group);
    if (exchange.reduction == Reduction::max) text += " max";
    if (exchange.collective == Collective::permute) text += " shift=" + shift(exchange.shift);
    return text;
  }

  void block(const std::vector<Step>& steps, const std::string& indent) {
    for (const Step& step : steps) {
      if (step.waits)
        text_ += indent + "wait for all" +
                 (*step.waits ? " but " + std::to_string(*step.waits) : "") + "\n";
      text_ += indent + (step.starts ? "start " : "") + line(step) + location(step.place) + "\n";
      if (step.is_loop) block(step.body, indent + "  ");
    }
  }

  /// The source location if it differs from the previous line's; only the line number if the file
  /// is the same.
  std::string location(const std::string& place) {
    const std::string here = place.substr(0, place.rfind(": "));
    if (here.empty() || here == place_) return "";
    const size_t colon = here.find(':'), in = here.find(" in ");
    const bool has_line = colon != std::string::npos && in != std::string::npos && colon < in;
    const std::string rest = has_line ? here.substr(0, colon) + here.substr(in) : here;
    place_ = here;
    if (!has_line || std::exchange(rest_, rest) != rest) return "  # " + here;
    return "  # line " + here.substr(colon + 1, in - colon - 1);
  }

  void header() {
    if (!names_.title.empty()) text_ += "plan " + names_.title + "\n";
    for (size_t g = 0; g < names_.groups.size(); ++g)
      text_ +=
          "group g" + std::to_string(g) + ":" + text_of_ranks(names_.groups[g]).substr(5) + "\n";
  }

  void given(const char* kind, const std::vector<Names::Given>& all) {
    for (const Names::Given& each : all) {
      text_ += std::string(kind) + " " + id(each.buffer) + declaration(each.buffer);
      for (const auto& [kept, made] : names_.same)
        if (made == each.buffer) text_ += " in place of " + id(kept);
      text_ += (each.type.empty() ? "" : "  # ") + each.type + "\n";
    }
  }

  /// Buffers that the caller does not pass, several per line.
  template <class Which>
  void memory(const std::string& title, const Which& which) {
    constexpr size_t widest = 110;
    std::string line, lines;
    for (BufferId i = 0; i < pieces_.size(); ++i) {
      const Piece& piece = pieces_[i];
      if (!declared_[i].element || is_given_[i] || !which(i)) continue;
      const std::string at = names_.arena ? " @" + std::to_string(piece.offset) : "";
      const std::string text = id(i) + declaration(i) + at;
      if (!line.empty() && line.size() + text.size() + 2 > widest) {
        lines += line + "\n";
        line.clear();
      }
      line += "  " + text;
    }
    text_ += title + "\n" + lines + (line.empty() ? "" : line + "\n");
  }

  const std::vector<Piece>& pieces_;
  const Names& names_;
  std::vector<Declared> declared_;
  std::vector<bool> is_given_;
  std::map<BufferId, std::string> given_;  ///< names
  std::string text_;
  std::string place_, rest_;  ///< of the previous line
};

}  // namespace

std::string text_of(const std::vector<Step>& steps, const std::vector<Piece>& pieces,
                    const Names& names) {
  return PlanWriter(steps, pieces, names).all(steps);
}

std::string text_of_commands(const std::vector<Step>& steps, const std::vector<Piece>& pieces,
                             const Names& names, int64_t most_times) {
  const PlanWriter writer(steps, pieces, names);
  std::string text;
  for (const Command& each : commands_of(steps, most_times)) {
    const std::string queue = "q" + std::to_string(each.queue) + " ";
    switch (each.kind) {
      case Command::Kind::launch:
        text += queue + writer.line(*each.step);
        break;
      case Command::Kind::record:
        text += queue + "record e" + std::to_string(each.event);
        break;
      case Command::Kind::wait:
        text += queue + "wait e" + std::to_string(each.event);
        break;
      case Command::Kind::index:
        text += "i" + std::to_string(each.loop) + " = " + std::to_string(each.value);
        break;
    }
    text += "\n";
  }
  return text;
}

}  // namespace shardproof::plan

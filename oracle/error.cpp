#include "oracle/error.h"

namespace shardproof::oracle {
namespace {

std::string sentence(const std::string& op, const std::string& value, const std::string& function,
                     const std::vector<Extents>& shapes, const std::string& message) {
  std::string text = "`" + op + "`";
  if (!value.empty()) text += " of `" + value + "`";
  if (!function.empty()) text += " in `" + function + "`";
  text += ": " + message;
  for (size_t i = 0; i < shapes.size(); ++i)
    text += (i ? ", " : "; shapes ") + to_string(shapes[i]);
  return text;
}

}  // namespace

Error::Error(std::string op, std::string value, std::string function, std::vector<Extents> shapes,
             const std::string& message)
    : std::runtime_error(sentence(op, value, function, shapes, message)),
      op(std::move(op)),
      value(std::move(value)),
      function(std::move(function)),
      shapes(std::move(shapes)) {}

Error error_at(const Origin& origin, std::vector<Extents> shapes, const std::string& message) {
  std::string through;
  for (const std::string& name : origin.instr->place.through) through += " (in `" + name + "`)";
  const bool named = !origin.instr->results.empty();
  return Error(ir::name_of(origin.instr->op),
               named ? origin.function->values[origin.instr->results[0]].name : "",
               origin.function->name, std::move(shapes), message + through);
}

}  // namespace shardproof::oracle

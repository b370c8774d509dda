#include "spec/shell/shell.h"

namespace shardproof::shell {
namespace {

constexpr char between = '|';

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::vector<std::string> choices_of(const CLI::Option& option) {
  try {
    // get_validator has no const form.
    const std::string names = const_cast<CLI::Option&>(option).get_validator(0)->get_name();
    return names.empty() ? std::vector<std::string>{} : CLI::detail::split(names, between);
  } catch (const CLI::OptionNotFound&) {
    return {};
  }
}

}  // namespace

CLI::Validator with_choices(CLI::Validator validator, const std::vector<std::string>& values) {
  return validator.description("").name(CLI::detail::join(values, std::string(1, between)));
}

std::vector<Word> words_of(const CLI::App& app) {
  std::vector<Word> words;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    Word word;
    word.positional = option->get_positional();
    const bool flag = option->get_type_size() == 0;
    if (!flag) word.type = option->get_type_name();
    if (word.positional) {
      word.name = word.type.empty() ? option->get_name(true) : word.type;
      word.type = word.name;
    } else {
      word.name = "--" + option->get_lnames().at(0);
    }
    word.choices = choices_of(*option);
    word.help = one_line(option->get_description());
    word.group = option->get_group();
    word.repeats = option->get_items_expected_max() > 1;
    words.push_back(std::move(word));
  }
  return words;
}

void refuse_empty(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options())
    for (const std::string& value : option->results())
      if (value.empty() && option->count() > 0)
        throw CLI::ValidationError(option->get_name(), "its value is empty");
}

std::string summary(const CLI::App& app) {
  std::string text = one_line(app.get_description());
  return text.substr(0, text.find(". ")) + (text.find(". ") == std::string::npos ? "" : ".");
}

void add_option(CLI::App& app, const std::string& version, std::optional<std::string>& asked) {
  auto answer = [&app, &asked, version](const std::string& kind) {
    if (kind == "bash") asked = bash_completion(app);
    if (kind == "zsh") asked = zsh_completion(app);
    if (kind == "fish") asked = fish_completion(app);
    if (kind == "man") asked = manual_page(app, version);
    if (!asked) throw CLI::ValidationError("--shell", "there are bash, zsh, fish and man");
    throw CLI::Success();
  };
  app.add_option_function<std::string>("--shell", answer)->group("")->trigger_on_parse();
}

}  // namespace shardproof::shell

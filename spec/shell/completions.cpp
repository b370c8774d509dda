#include "spec/shell/shell.h"

namespace shardproof::shell {
namespace {

bool starts_with(const std::string& text, const char* begin) { return text.rfind(begin, 0) == 0; }
bool is_file(const Word& word) { return starts_with(word.type, "FILE"); }
bool is_folder(const Word& word) { return starts_with(word.type, "DIR"); }

std::string joined(const std::vector<std::string>& words) { return CLI::detail::join(words, " "); }

/// `text` with `escape` before each of `marks`.
std::string escaped(const std::string& text, const std::string& marks, const std::string& escape) {
  std::string result;
  for (char c : text) {
    if (marks.find(c) != std::string::npos) result += escape;
    result += c;
  }
  return result;
}

std::string in_quotes(const std::string& text) { return "'" + escaped(text, "'", "'\\'") + "'"; }

/// The name of a shell's function for the program.
std::string function_of(const CLI::App& app) {
  std::string name = "_" + app.get_name();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace

std::string bash_completion(const CLI::App& app) {
  const std::string function = function_of(app);
  std::string values, all, free;
  for (const Word& word : words_of(app)) {
    if (word.positional) continue;
    all += (all.empty() ? "" : " ") + word.name;
    if (word.type.empty()) continue;
    std::string what;
    if (!word.choices.empty())
      what = "offer=(-W " + in_quotes(joined(word.choices)) + ")";
    else if (is_folder(word))
      what = "offer=(-d)";
    else if (is_file(word))
      what = "offer=(-f)";
    else {
      free += (free.empty() ? "" : "|") + word.name;
      continue;
    }
    values += "    " + word.name + ") " + what + " ;;\n";
  }
  if (!free.empty()) values += "    " + free + ") return 0 ;;\n";
  return "# bash completion of " + app.get_name() + "; its --shell bash writes it.\n" + function +
         R"(() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} offer=(sources)
  # For bash --format=json is three words.
  if [[ $before == '=' ]]; then before=${COMP_WORDS[COMP_CWORD - 2]}; fi
  if [[ $word == '=' ]]; then word=''; fi
  COMPREPLY=()
  case $before in
)" + values +
         "    *) if [[ $word == -* ]]; then offer=(-W " + in_quotes(all) + R"(); fi ;;
  esac
  if [[ ${offer[0]} == -W ]]; then
    mapfile -t COMPREPLY < <(compgen "${offer[@]}" -- "$word")
    return 0
  fi
  compopt -o filenames 2>/dev/null
  if [[ ${offer[0]} == sources ]]; then
    mapfile -t COMPREPLY < <(compgen -f -X '!*.shard' -- "$word"; compgen -f -X '!*.json' -- "$word"; compgen -d -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen "${offer[@]}" -- "$word")
  fi
}
complete -F )" +
         function + " " + app.get_name() + "\n";
}

std::string zsh_completion(const CLI::App& app) {
  std::string text = "#compdef " + app.get_name() + "\n# Its --shell zsh writes it.\n_arguments";
  for (const Word& word : words_of(app)) {
    const std::string help = escaped(word.help, "\\[]:", "\\");
    std::string action;
    if (!word.choices.empty())
      action = "(" + joined(word.choices) + ")";
    else if (is_folder(word))
      action = "_files -/";
    else if (word.positional)
      action = "_files -g \"*.(shard|json)\"";
    else if (is_file(word))
      action = "_files";
    std::string spec;
    if (word.positional)
      spec = std::string(word.repeats ? "*" : "1") + ":" + help + ":" + action;
    else if (word.type.empty())
      spec = word.name + "[" + help + "]";
    else
      spec = (word.repeats ? "*" : "") + word.name + "=[" + help +
             "]:" + escaped(word.type, "\\:", "\\") + ":" + action;
    text += " \\\n  " + in_quotes(spec);
  }
  return text + "\n";
}

std::string fish_completion(const CLI::App& app) {
  const std::string begin = "complete -c " + app.get_name();
  std::string text = "# fish completion of " + app.get_name() + "; its --shell fish writes it.\n";
  for (const Word& word : words_of(app)) {
    if (word.positional) {
      text += begin + " -k -x -a '(__fish_complete_suffix .shard)'\n";
      continue;
    }
    text += begin + " -l " + word.name.substr(2);
    if (!word.choices.empty())
      text += " -x -a " + in_quotes(joined(word.choices));
    else if (is_folder(word))
      text += " -x -a '(__fish_complete_directories)'";
    else if (is_file(word))
      text += " -r -F";
    else if (!word.type.empty())
      text += " -x";
    // In fish's single quotes a backslash escapes.
    text += " -d '" + escaped(word.help, "\\'", "\\") + "'\n";
  }
  return text;
}

}  // namespace shardproof::shell

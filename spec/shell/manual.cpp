#include <sstream>

#include "spec/shell/shell.h"

namespace shardproof::shell {
namespace {

/// `text` as roff reads it: a minus that can be copied, and no line that is a command.
std::string roff(const std::string& text) {
  std::string result;
  for (size_t at = 0; at < text.size(); ++at) {
    const bool begins = at == 0 || text[at - 1] == '\n';
    if (begins && (text[at] == '.' || text[at] == '\'')) result += "\\&";
    if (text[at] == '\\')
      result += "\\e";
    else if (text[at] == '-')
      result += "\\-";
    else
      result += text[at];
  }
  return result;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

/// The footer's parts: a line at the margin is a heading, those below it are kept as they are.
std::string sections(const std::string& footer) {
  std::istringstream lines(footer);
  std::string text, line, kept;
  auto end = [&] {
    while (kept.ends_with("\n\n")) kept.pop_back();
    if (!kept.empty()) text += ".nf\n" + kept + ".fi\n";
    kept.clear();
  };
  while (std::getline(lines, line)) {
    if (!line.empty() && line[0] != ' ') {
      end();
      text += ".SH \"" + upper(roff(line)) + "\"\n";
    } else if (!line.empty() || !kept.empty()) {
      kept += roff(line.size() > 2 ? line.substr(2) : line) + "\n";
    }
  }
  end();
  return text;
}

}  // namespace

std::string manual_page(const CLI::App& app, const std::string& version) {
  const std::string name = app.get_name();
  std::string what = summary(app);
  if (what.rfind(name + " ", 0) == 0) what = what.substr(name.size() + 1);
  if (what.ends_with('.')) what.pop_back();
  std::string text = ".TH " + upper(roff(name)) + " 1 \"\" \"shardproof " + version +
                     "\"\n.SH NAME\n" + roff(name) + " \\- " + roff(what) + "\n.SH SYNOPSIS\n.B " +
                     roff(name) + "\n[\\fIoptions\\fR]\n";
  std::string options, group;
  for (const Word& word : words_of(app)) {
    if (word.positional) {
      text += ".I " + roff(word.name) + (word.repeats ? "...\n" : "\n");
      continue;
    }
    if (word.group != group) {
      group = word.group;
      options += ".SH \"" + upper(roff(group)) + "\"\n";
    }
    options += ".TP\n.B " + roff(word.name);
    if (!word.type.empty()) options += " \\fI" + roff(word.type) + "\\fR";
    options += "\n" + roff(word.help) + "\n";
  }
  text += ".SH DESCRIPTION\n" + roff(app.get_description()) + "\n" + options;
  return text + sections(app.get_footer());
}

}  // namespace shardproof::shell

#include "spec/shell/shell.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace shardproof::shell {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

struct Program {
  CLI::App app{"tool does what it's told. It has more to say.", "a-tool"};
  std::string format, folder, name;
  std::vector<std::string> files, mesh;
  bool loud = false;
  std::optional<std::string> asked;

  Program() {
    const std::map<std::string, std::string> formats = {{"json", "json"}, {"text", "text"}};
    app.add_option("files", files, "What to read")->type_name("FILE");
    app.add_option("--format", format, "text or json")
        ->type_name("KIND")
        ->transform(one_of(formats));
    app.add_option("--save", folder, "A folder")->type_name("DIR")->group("Output");
    app.add_option("--mesh", mesh, "Axes: [d=8]\nof it's mesh")->type_name("AXIS=N");
    app.add_flag("--loud", loud, "Say more");
    app.footer("\nExamples\n  a-tool x\n  .hidden \\n\nMore\n  text");
    add_option(app, "1.2", asked);
  }
};

TEST(Shell, EachOptionOfTheHelpIsAWord) {
  Program program;
  std::vector<std::string> names;
  for (const Word& word : words_of(program.app)) names.push_back(word.name);
  EXPECT_THAT(names, ElementsAre("--help", "FILE", "--format", "--save", "--mesh", "--loud"));
  for (auto* text : {bash_completion, zsh_completion, fish_completion})
    for (const char* option : {"help", "format", "save", "mesh", "loud"})
      EXPECT_THAT(text(program.app), HasSubstr(option));
}

TEST(Shell, ChoicesAreThoseThatTheProgramTakes) {
  Program program;
  EXPECT_THAT(words_of(program.app)[2].choices, ElementsAre("json", "text"));
  EXPECT_THAT(bash_completion(program.app), HasSubstr("--format) offer=(-W 'json text') ;;"));
  EXPECT_THAT(zsh_completion(program.app), HasSubstr("'--format=[text or json]:KIND:(json text)'"));
  EXPECT_THAT(fish_completion(program.app), HasSubstr("-l format -x -a 'json text'"));
  EXPECT_THROW(program.app.parse("--format xml"), CLI::ValidationError);
}

TEST(Shell, QuotesOfTheHelpAreThoseOfTheShell) {
  Program program;
  EXPECT_THAT(zsh_completion(program.app), HasSubstr("[Axes\\: \\[d=8\\] of it'\\''s mesh]"));
  EXPECT_THAT(fish_completion(program.app), HasSubstr("-d 'Axes: [d=8] of it\\'s mesh'"));
}

TEST(Shell, TheManualIsTheHelp) {
  Program program;
  const std::string page = manual_page(program.app, "1.2");
  EXPECT_THAT(page, HasSubstr(".TH A\\-TOOL 1 \"\" \"shardproof 1.2\"\n"));
  EXPECT_THAT(page, HasSubstr("a\\-tool \\- tool does what it's told\n"));
  EXPECT_THAT(page, HasSubstr(".SH \"OUTPUT\"\n.TP\n.B \\-\\-save \\fIDIR\\fR\nA folder\n"));
  EXPECT_THAT(page, HasSubstr(".SH \"EXAMPLES\"\n.nf\na\\-tool x\n\\&.hidden \\en\n.fi\n"));
  EXPECT_THAT(page, Not(HasSubstr("shell"))) << "an option that the help does not show";
}

TEST(Shell, TheOptionGivesTheText) {
  Program program;
  EXPECT_THROW(program.app.parse("--shell fish"), CLI::Success);
  EXPECT_EQ(program.asked, fish_completion(program.app));
  EXPECT_THROW(Program().app.parse("--shell dos"), CLI::ValidationError);
}

}  // namespace
}  // namespace shardproof::shell

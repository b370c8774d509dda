#include "spec/lsp/server.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <functional>
#include <map>

#include "spec/cli/options.h"
#include "spec/lsp/answers.h"
#include "spec/lsp/framing.h"
#include "spec/lsp/prover.h"
#include "spec/resolve/project.h"
#include "spec/shell/version.h"
#include "spec/syntax/format.h"

namespace shardproof::lsp {
namespace {

constexpr int parse_error = -32700, invalid_request = -32600, no_method = -32601,
              invalid_params = -32602, not_initialized = -32002, request_failed = -32803;

struct Error {
  int code;
  std::string message;
};

struct Document {
  std::string path, text;
  Json version = nullptr;
  std::optional<Analysis> analysis;  ///< none: the text has changed since
  Json findings;                     ///< of the prover, or else of the types; null before
};

/// A string of an object, at a path of keys; empty where there is none.
std::string text_at(const Json& json, std::initializer_list<const char*> keys) {
  const Json* at = &json;
  for (const char* key : keys) {
    if (!at->is_object() || !at->contains(key)) return "";
    at = &at->at(key);
  }
  return at->is_string() ? at->get<std::string>() : "";
}

Json member(const Json& json, const char* key) {
  return json.is_object() && json.contains(key) ? json.at(key) : Json(nullptr);
}

Json capabilities() {
  return {{"positionEncoding", "utf-16"},
          {"textDocumentSync", {{"openClose", true}, {"change", 2}, {"save", true}}},
          {"hoverProvider", true},
          {"definitionProvider", true},
          {"referencesProvider", true},
          {"documentHighlightProvider", true},
          {"documentSymbolProvider", true},
          {"documentFormattingProvider", true},
          {"completionProvider", {{"triggerCharacters", {"\"", "/", "[", "|", "."}}}},
          {"codeActionProvider", {{"codeActionKinds", {"quickfix"}}}},
          {"codeLensProvider", {{"resolveProvider", false}}},
          {"renameProvider", {{"prepareProvider", true}}},
          {"inlayHintProvider", true},
          {"foldingRangeProvider", true},
          {"semanticTokensProvider",
           {{"legend", {{"tokenTypes", semantic_kinds}, {"tokenModifiers", {"declaration"}}}},
            {"full", true}}}};
}

class Server {
 public:
  Server(int in, int out) : in_(in), out_(out) { add_methods(); }

  int run() {
    while (!exit_) {
      if (!work_waits())
        wait(-1);
      else if (!wait(0))
        work();
    }
    return shut_down_ ? 0 : 1;
  }

 private:
  using Method = std::function<Json(const Json& params)>;

  // --- input ---

  /// Reads what there is within `timeout` ms (-1: until there is something); true: something was.
  bool wait(int timeout) {
    pollfd ready[2] = {{in_, POLLIN, 0}, {prover_.descriptor(), POLLIN, 0}};
    const int count = poll(ready, prover_.runs() ? 2 : 1, timeout);
    if (count < 0 && errno == EINTR) return true;
    if (count == 0) return false;
    if (ready[0].revents) receive();
    if (prover_.runs() && ready[1].revents)
      if (auto answer = prover_.read()) proof_ended(*answer);
    return true;
  }

  void receive() {
    char some[1 << 16];
    const ssize_t count = ::read(in_, some, sizeof some);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (count <= 0) {
      exit_ = true;
      return;
    }
    framing_.feed(some, static_cast<size_t>(count));
    while (auto piece = framing_.next()) {
      if (piece->error.empty())
        message(piece->body);
      else
        reply_error(nullptr, {parse_error, piece->error});
      if (exit_) return;
    }
  }

  void message(const std::string& body) {
    const Json json = Json::parse(body, nullptr, false);
    if (json.is_discarded()) return reply_error(nullptr, {parse_error, "this is no JSON in UTF-8"});
    const Json id = member(json, "id");
    const bool request = id.is_number() || id.is_string();
    const std::string method = text_at(json, {"method"});
    if (!json.is_object() ||
        (method.empty() && !json.contains("result") && !json.contains("error")))
      return reply_error(request ? id : Json(nullptr), {invalid_request, "this is no message"});
    if (method.empty()) return;  // an answer to a request of ours: there are none
    try {
      Json result = dispatch(method, member(json, "params"), request);
      if (request) send({{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}});
    } catch (const Error& error) {
      if (request) reply_error(id, error);
    } catch (const std::exception& error) {
      if (request)
        reply_error(id, {request_failed, std::string("internal error: ") + error.what()});
    }
  }

  Json dispatch(const std::string& method, const Json& params, bool request) {
    if (method == "exit") {
      exit_ = true;
      return nullptr;
    }
    if (!initialized_ && method != "initialize")
      throw Error{not_initialized, "initialize comes first"};
    if (shut_down_) throw Error{invalid_request, "the server is shut down"};
    const auto found = methods_.find(method);
    if (found == methods_.end()) {
      if (request) throw Error{no_method, "there is no method " + method};
      return nullptr;
    }
    return found->second(params);
  }

  // --- output ---

  void send(const Json& json) {
    const std::string text = framed(json.dump(-1, ' ', false, Json::error_handler_t::replace));
    for (size_t done = 0; done < text.size();) {
      const ssize_t count = ::write(out_, text.data() + done, text.size() - done);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) {
        exit_ = true;
        return;
      }
      done += static_cast<size_t>(count);
    }
  }
  void reply_error(const Json& id, const Error& error) {
    send({{"jsonrpc", "2.0"},
          {"id", id},
          {"error", {{"code", error.code}, {"message", error.message}}}});
  }
  void publish(const std::string& uri, const Document& document) {
    Json params = {{"uri", uri}, {"diagnostics", document.findings.at("diagnostics")}};
    if (document.version.is_number_integer()) params["version"] = document.version;
    send({{"jsonrpc", "2.0"}, {"method", "textDocument/publishDiagnostics"}, {"params", params}});
    if (refreshes_lenses_)
      send({{"jsonrpc", "2.0"},
            {"id", "lens-" + std::to_string(++asked_)},
            {"method", "workspace/codeLens/refresh"}});
  }

  // --- documents ---

  Document& document_of(const Json& params) {
    const auto found = documents_.find(text_at(params, {"textDocument", "uri"}));
    if (found == documents_.end()) throw Error{invalid_params, "this document is not open"};
    return found->second;
  }

  /// What is open is read as it stands in the editor, all else from the project's folder.
  FileReader reader_for(const std::string& path) const {
    std::map<std::string, std::string> open;
    for (const auto& [uri, document] : documents_) open[document.path] = document.text;
    return [open = std::move(open),
            disk = project_reader(path)](const std::string& wanted) -> std::optional<std::string> {
      const auto found = open.find(wanted);
      return found == open.end() ? disk(wanted) : found->second;
    };
  }

  const Analysis& analysis_of(Document& document) {
    if (!document.analysis) document.analysis = typed(document.path, reader_for(document.path));
    return *document.analysis;
  }
  const Analysis& analysis_for(const Json& params) { return analysis_of(document_of(params)); }

  /// A text has changed: it, and those that import it, are checked anew.
  void changed(const std::string& uri) {
    const std::string path = documents_.at(uri).path;
    for (auto& each : documents_) {
      const std::string& other = each.first;
      Document& document = each.second;
      bool reads = other == uri;
      if (document.analysis)
        for (size_t i = 0; i < document.analysis->sources->size(); ++i)
          reads |= document.analysis->sources->file(static_cast<int32_t>(i)).path == path;
      if (!reads) continue;
      if (document.analysis) old_.push_back(std::move(*document.analysis));
      document.analysis.reset();
      if (prover_.uri() == other) prover_.stop();
      const auto forget = [&](std::deque<std::string>& list) {
        list.erase(std::remove(list.begin(), list.end(), other), list.end());
      };
      forget(to_prove_);
      forget(to_type_);
      to_type_.push_back(other);
    }
  }

  bool work_waits() const { return !to_type_.empty() || (!to_prove_.empty() && !prover_.runs()); }

  /// One piece of it; messages that have come are read first, so that old texts are passed over.
  void work() {
    if (!to_type_.empty()) {
      const std::string uri = to_type_.front();
      to_type_.pop_front();
      Document& document = documents_.at(uri);
      document.findings = findings(analysis_of(document), false);
      publish(uri, document);
      old_.clear();
      to_prove_.push_back(uri);
      return;
    }
    const std::string uri = to_prove_.front();
    to_prove_.pop_front();
    const Document& document = documents_.at(uri);
    prover_.start(uri, document.path, reader_for(document.path));
  }

  void proof_ended(const Prover::Answer& answer) {
    const auto found = documents_.find(answer.uri);
    if (found == documents_.end() || !found->second.analysis) return;
    Document& document = found->second;
    if (answer.findings.is_object()) {
      document.findings = answer.findings;
    } else {
      const Json start = {{"line", 0}, {"character", 0}};
      const std::string text = "not proved: the check ended before its end, or took more than " +
                               std::to_string(Prover::seconds) + " s";
      document.findings["diagnostics"].push_back({{"range", {{"start", start}, {"end", start}}},
                                                  {"severity", 2},
                                                  {"code", "U0003"},
                                                  {"source", "check-sharding"},
                                                  {"message", text}});
      for (Json& lens : document.findings["lenses"]) lens["command"]["title"] = "unknown: " + text;
    }
    publish(answer.uri, document);
  }

  void open(const Json& params) {
    const std::string uri = text_at(params, {"textDocument", "uri"});
    if (uri.empty()) throw Error{invalid_params, "a document without a uri"};
    Document& document = documents_[uri] = {};
    document.path = path_of(uri);
    document.text = text_at(params, {"textDocument", "text"});
    document.version = member(member(params, "textDocument"), "version");
    changed(uri);
  }

  void change(const Json& params) {
    Document& document = document_of(params);
    document.version = member(member(params, "textDocument"), "version");
    const Json changes = member(params, "contentChanges");
    if (!changes.is_array()) throw Error{invalid_params, "contentChanges is missing"};
    for (const Json& each : changes) {
      const std::string text = text_at(each, {"text"});
      const Json range = member(each, "range");
      if (!range.is_object()) {
        document.text = text;
        continue;
      }
      Sources sources;
      const SourceFile& old = sources.file(sources.add("", document.text));
      const uint32_t begin = offset_of(old, member(range, "start"));
      const uint32_t end = std::max(begin, offset_of(old, member(range, "end")));
      document.text.replace(begin, end - begin, text);
    }
    changed(text_at(params, {"textDocument", "uri"}));
  }

  void close(const Json& params) {
    const std::string uri = text_at(params, {"textDocument", "uri"});
    Document& document = document_of(params);
    document.findings = {{"diagnostics", Json::array()}};
    document.version = nullptr;
    publish(uri, document);
    changed(uri);
    for (auto* list : {&to_type_, &to_prove_})
      list->erase(std::remove(list->begin(), list->end(), uri), list->end());
    documents_.erase(uri);
  }

  // --- requests ---

  uint32_t offset(const Analysis& analysis, const Json& params) const {
    return offset_of(analysis.text(), member(params, "position"));
  }

  Json code_actions(const Json& params) {
    Document& document = document_of(params);
    const std::string uri = text_at(params, {"textDocument", "uri"});
    const Analysis& analysis = analysis_of(document);
    const Json range = member(params, "range");
    const uint32_t begin = offset_of(analysis.text(), member(range, "start"));
    const uint32_t end = offset_of(analysis.text(), member(range, "end"));
    Json actions = Json::array();
    if (!document.findings.is_object()) return actions;
    for (const Json& fix : document.findings.at("fixes")) {
      const Json& at = fix.at("diagnostic").at("range");
      if (offset_of(analysis.text(), at.at("end")) < begin ||
          offset_of(analysis.text(), at.at("start")) > end)
        continue;
      actions.push_back({{"title", fix.at("title")},
                         {"kind", "quickfix"},
                         {"diagnostics", {fix.at("diagnostic")}},
                         {"edit", {{"changes", {{uri, fix.at("edits")}}}}}});
    }
    return actions;
  }

  Json lenses(const Json& params) {
    Document& document = document_of(params);
    if (!document.analysis || !document.findings.is_object())
      document.findings = findings(analysis_of(document), false);
    return document.findings.at("lenses");
  }

  Json formatting(const Json& params) {
    const Document& document = document_of(params);
    const auto text = syntax::formatted(document.text);
    if (!text || *text == document.text) return Json::array();
    Sources sources;
    const SourceFile& old = sources.file(sources.add("", document.text));
    const SourceRange all{0, 0, static_cast<uint32_t>(document.text.size())};
    return {{{"range", range_of(old, all)}, {"newText", *text}}};
  }

  Json renamed(const Json& params) {
    const Analysis& analysis = analysis_for(params);
    Renaming result = rename(analysis, offset(analysis, params), text_at(params, {"newName"}));
    if (!result.refused.empty()) throw Error{request_failed, result.refused};
    return {{"changes", {{text_at(params, {"textDocument", "uri"}), result.edits}}}};
  }

  Json initialize(const Json& params) {
    initialized_ = true;
    const Json workspace = member(member(params, "capabilities"), "workspace");
    refreshes_lenses_ = member(member(workspace, "codeLens"), "refreshSupport") == Json(true);
    return {{"capabilities", capabilities()},
            {"serverInfo", {{"name", "check-sharding"}, {"version", shell::version}}}};
  }

  void add_methods() {
    methods_["initialize"] = [this](const Json& p) { return initialize(p); };
    methods_["shutdown"] = [this](const Json&) {
      shut_down_ = true;
      prover_.stop();
      return Json(nullptr);
    };
    const auto notification = [this](const char* name, void (Server::*handle)(const Json&)) {
      methods_[name] = [this, handle](const Json& p) {
        (this->*handle)(p);
        return Json(nullptr);
      };
    };
    notification("textDocument/didOpen", &Server::open);
    notification("textDocument/didChange", &Server::change);
    notification("textDocument/didClose", &Server::close);
    methods_["textDocument/codeAction"] = [this](const Json& p) { return code_actions(p); };
    methods_["textDocument/codeLens"] = [this](const Json& p) { return lenses(p); };
    methods_["textDocument/formatting"] = [this](const Json& p) { return formatting(p); };
    methods_["textDocument/rename"] = [this](const Json& p) { return renamed(p); };
    const auto at = [this](const char* name, Json (*answer)(const Analysis&, uint32_t)) {
      methods_[name] = [this, answer](const Json& p) {
        const Analysis& analysis = analysis_for(p);
        return answer(analysis, offset(analysis, p));
      };
    };
    at("textDocument/hover", hover);
    at("textDocument/definition", definition);
    at("textDocument/completion", completion);
    at("textDocument/prepareRename", prepare_rename);
    const auto whole = [this](const char* name, Json (*answer)(const Analysis&)) {
      methods_[name] = [this, answer](const Json& p) { return answer(analysis_for(p)); };
    };
    whole("textDocument/documentSymbol", symbols);
    whole("textDocument/foldingRange", folding);
    whole("textDocument/semanticTokens/full", semantic_tokens);
    methods_["textDocument/references"] = [this](const Json& p) {
      const Analysis& analysis = analysis_for(p);
      return references(analysis, text_at(p, {"textDocument", "uri"}), offset(analysis, p));
    };
    methods_["textDocument/documentHighlight"] = methods_["textDocument/references"];
    methods_["textDocument/inlayHint"] = [this](const Json& p) {
      const Analysis& analysis = analysis_for(p);
      const Json range = member(p, "range");
      return inlay_hints(analysis, offset_of(analysis.text(), member(range, "start")),
                         offset_of(analysis.text(), member(range, "end")));
    };
  }

  int in_, out_;
  LibraryFolder library_;
  Framing framing_;
  Prover prover_;
  std::map<std::string, Method> methods_;
  std::map<std::string, Document> documents_;  ///< by uri
  std::deque<std::string> to_type_, to_prove_;
  std::vector<Analysis> old_;  ///< of earlier texts: freed when the new diagnostics are out
  bool initialized_ = false, shut_down_ = false, exit_ = false, refreshes_lenses_ = false;
  int asked_ = 0;
};

}  // namespace

int serve(int in, int out) {
  signal(SIGPIPE, SIG_IGN);
  return Server(in, out).run();
}

}  // namespace shardproof::lsp

// Converts between texts and tokens of a job: with its tokenizer, or as bytes.
#include <algorithm>

#include "impl/checkpoint/file.h"
#include "impl/data/corpus.h"
#include "impl/shard_train/job.h"

namespace shardproof::shard_train {
namespace {

constexpr size_t corpus_bytes = 4 << 20;

/// The tokens of the files' texts, one document per file.
data::Tokens encoded(const data::Tokenizer& tokenizer, const std::vector<std::string>& files) {
  std::vector<uint32_t> tokens;
  std::string names;
  for (const std::string& file : files) {
    if (!file.ends_with(".txt"))
      throw BadInput(file +
                     ": --tokenizer encodes .txt files; tokens need no tokenizer, or one only "
                     "for --sample: give texts and tokens in runs of their own");
    if (tokenizer.document()) tokens.push_back(*tokenizer.document());
    const std::vector<uint32_t> more = tokenizer.encode(checkpoint::read_text(file));
    tokens.insert(tokens.end(), more.begin(), more.end());
    names += (names.empty() ? "" : " ") + file;
  }
  return data::Tokens::of_numbers(tokens, names);
}

bool has_text(const std::vector<std::string>& files) {
  return std::any_of(files.begin(), files.end(),
                     [](const std::string& file) { return file.ends_with(".txt"); });
}

data::Tokens read_tokens(const Job& job, const std::vector<std::string>& files) {
  if (files.empty()) {
    const std::string text = data::made_up_corpus(corpus_bytes, 0);
    if (!job.tokenizer && job.vocabulary <= *std::max_element(text.begin(), text.end()))
      throw BadInput(
          "without --data the text is made up, of bytes, and the vocabulary ends below " +
          std::to_string(job.vocabulary) +
          ": give it 256 tokens with --set, or your own tokens with --data");
    return job.tokenizer
               ? data::Tokens::of_numbers(job.tokenizer->encode(text), "the made-up corpus")
               : data::Tokens::of_text(text, "the made-up corpus");
  }
  if (job.tokenizer && has_text(files)) return encoded(*job.tokenizer, files);
  return data::Tokens::of_files({files.begin(), files.end()}, job.options.format);
}

}  // namespace

std::shared_ptr<const data::Tokens> Job::tokens_of(const std::vector<std::string>& files) const {
  data::Tokens read = read_tokens(*this, files);
  if (tokenizer && tokenizer->document()) read.set_document(*tokenizer->document());
  if (options.document) read.set_document(*options.document);
  return std::make_shared<const data::Tokens>(std::move(read));
}

std::vector<uint32_t> Job::encode(const std::string& text) const {
  if (tokenizer) return tokenizer->encode(text);
  const auto bytes = [](char each) { return static_cast<unsigned char>(each); };
  std::vector<uint32_t> tokens;
  std::transform(text.begin(), text.end(), std::back_inserter(tokens), bytes);
  return tokens;
}

std::string Job::decode(const std::vector<uint32_t>& some) const {
  std::string text;
  for (const uint32_t token : some)
    if (token == tokens->document())
      text += "\n";
    else if (tokenizer)
      text += tokenizer->decode({&token, 1});
    else
      text += token < 256 ? std::string(1, static_cast<char>(token))
                          : "<" + std::to_string(token) + ">";
  return text;
}

}  // namespace shardproof::shard_train

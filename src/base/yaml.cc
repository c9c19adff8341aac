#include "base/yaml.h"

#include <yaml-cpp/anchor.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <istream>
#include <map>
#include <numeric>
#include <optional>
#include <streambuf>

#include "base/quantity.h"
#include "base/text.h"

namespace weft {

struct Yaml::Node {
  Kind kind = Kind::kNull;
  int line = 0;
  std::string text;                    // scalars
  std::vector<const Node*> children;   // list items, or map values in file order
  std::vector<std::string> keys;       // maps
  std::vector<int> key_lines;          // maps
  std::vector<std::uint32_t> by_name;  // maps: indices sorted by key
  std::int64_t weight = 1;             // nodes when every alias is written out
  int height = 1;                      // levels below and including this one
  const std::string* file = nullptr;
};

namespace {

constexpr int kMaxDepth = 64;
constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
// A value costs about 200 bytes here and a flow item ("[", "{", ",") as much again inside yaml-cpp, which scans a whole flow
// collection before it hands out the first event: bounded, so that no file takes more than about 1 GiB.
constexpr std::size_t kMaxValues = 4'000'000, kMaxFlowItems = 4'000'000, kMaxOpenRun = 1000;
constexpr std::int64_t kMaxAliased = 1'000'000;  // nodes added by aliases, all together: "billion laughs" stops here

struct ViewBuffer : std::streambuf {
  explicit ViewBuffer(std::string_view s) {
    char* p = const_cast<char*>(s.data());
    setg(p, p, p + s.size());
  }
};

struct Refused {  // thrown through yaml-cpp by the builder, caught in parse()
  int line;
  std::string message;
};

int line_of(const YAML::Mark& mark) { return mark.line < 0 ? 0 : mark.line + 1; }

// What must be refused before yaml-cpp sees it. Counts only, so brackets inside quotes count too; the limits are far away.
std::optional<Refused> flow_bomb(std::string_view text) {
  std::size_t items = 0, run = 0;
  int line = 1;
  for (char c : text) {
    if (c == '[' || c == '{') ++items, ++run;
    else if (c == ',') ++items, run = 0;
    else if (c == '\n') ++line;
    else if (c != ' ' && c != '\r') run = 0;
    if (run > kMaxOpenRun) return Refused{line, "nested more than " + std::to_string(kMaxDepth) + " levels deep"};
    if (items > kMaxFlowItems)
      return Refused{line,
                     "holds more than " + std::to_string(kMaxFlowItems) + " '[', '{' and ','; write long lists one item a line ('- …')"};
  }
  return std::nullopt;
}

}  // namespace

// Owns all nodes of one file; every Yaml of the file shares it.
struct Yaml::Document {
  std::string file;
  std::deque<Node> nodes;
  const Node* root = nullptr;
};

// Builds the tree from yaml-cpp's events, so that depth, duplicates and aliases are judged before they cost anything.
class Yaml::Builder : public YAML::EventHandler {
 public:
  explicit Builder(Document& document) : document_(document) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { leaf(mark, anchor, Kind::kNull, ""); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, const std::string& value) override {
    leaf(mark, anchor, Kind::kScalar, value);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    open(mark, anchor, Kind::kList);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    open(mark, anchor, Kind::kMap);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    auto found = anchors_.find(anchor);
    if (found == anchors_.end()) throw Refused{line_of(mark), "an alias (*name) points at a part that contains it; write the part out"};
    const Node* target = found->second;
    aliased_ += target->weight;
    if (aliased_ > kMaxAliased)
      throw Refused{line_of(mark),
                    "aliases (*name) expand to more than " + std::to_string(kMaxAliased) + " values; write a 'repeat' or fewer aliases"};
    if (static_cast<int>(open_.size()) + target->height > kMaxDepth) too_deep(line_of(mark));
    place(target, line_of(mark), true);
  }

 private:
  struct Open {
    Node* node;
    YAML::anchor_t anchor;
    bool key_next;
  };

  Node& make(Kind kind, int line) {
    if (document_.nodes.size() >= kMaxValues)
      throw Refused{line, "holds more than " + std::to_string(kMaxValues) + " values; use a 'repeat' for regular parts"};
    Node& n = document_.nodes.emplace_back();
    n.kind = kind, n.line = line, n.file = &document_.file;
    return n;
  }

  [[noreturn]] static void too_deep(int line) { throw Refused{line, "nested more than " + std::to_string(kMaxDepth) + " levels deep"}; }

  void leaf(const YAML::Mark& mark, YAML::anchor_t anchor, Kind kind, const std::string& text) {
    int line = line_of(mark);
    if (!open_.empty() && open_.back().key_next) {
      if (kind != Kind::kScalar) throw Refused{line, "a key is missing before ':'"};
      if (anchor != YAML::NullAnchor) throw Refused{line, "a key cannot carry an anchor (&name)"};
      Node& map = *open_.back().node;
      map.keys.push_back(text), map.key_lines.push_back(line);
      open_.back().key_next = false;
      return;
    }
    // "key:" without a value is marked where the next token begins; the key's line is what a person looks for.
    if (kind == Kind::kNull && !open_.empty() && open_.back().node->kind == Kind::kMap) line = open_.back().node->key_lines.back();
    Node& n = make(kind, line);
    n.text = text;
    if (anchor != YAML::NullAnchor) anchors_[anchor] = &n;
    place(&n, line, false);
  }

  void open(const YAML::Mark& mark, YAML::anchor_t anchor, Kind kind) {
    int line = line_of(mark);
    if (!open_.empty() && open_.back().key_next) throw Refused{line, "a key must be plain text, not a list or a map"};
    if (static_cast<int>(open_.size()) >= kMaxDepth) too_deep(line);
    open_.push_back({&make(kind, line), anchor, kind == Kind::kMap});
  }

  void close() {
    Open done = open_.back();
    open_.pop_back();
    if (done.node->kind == Kind::kMap) check_keys(*done.node);
    if (done.anchor != YAML::NullAnchor) anchors_[done.anchor] = done.node;
    place(done.node, done.node->line, false);
  }

  void place(const Node* n, int line, bool alias) {
    if (open_.empty()) {
      document_.root = n;
      return;
    }
    Open& parent = open_.back();
    if (parent.key_next) throw Refused{line, alias ? "a key cannot be an alias (*name)" : "a key must be plain text"};
    parent.node->children.push_back(n);
    parent.node->weight += n->weight;
    parent.node->height = std::max(parent.node->height, n->height + 1);
    if (parent.node->kind == Kind::kMap) parent.key_next = true;
  }

  static void check_keys(Node& map) {
    std::vector<std::uint32_t>& order = map.by_name;
    order.resize(map.keys.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(),
              [&](std::uint32_t a, std::uint32_t b) { return map.keys[a] != map.keys[b] ? map.keys[a] < map.keys[b] : a < b; });
    const std::uint32_t* worst = nullptr;  // the duplicate that comes first in the file
    for (std::size_t i = 1; i < order.size(); ++i)
      if (map.keys[order[i]] == map.keys[order[i - 1]] && (!worst || order[i] < *worst)) worst = &order[i];
    if (!worst) return;
    std::size_t first = static_cast<std::size_t>(std::find(map.keys.begin(), map.keys.end(), map.keys[*worst]) - map.keys.begin());
    throw Refused{map.key_lines[*worst],
                  "key '" + map.keys[*worst] + "' is given twice (first in line " + std::to_string(map.key_lines[first]) + "); keep one"};
  }

  Document& document_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, const Node*> anchors_;  // finished ones only
  std::int64_t aliased_ = 0;
};

Result<Yaml> Yaml::parse(std::string_view text, std::string name) {
  auto bad = [&](int line, const std::string& message) {
    return fail(ErrorKind::kInvalid, message, line > 0 ? name + ":" + std::to_string(line) : name);
  };
  if (text.size() > kMaxBytes) return bad(0, "is larger than 64 MiB; split it or use a 'repeat'");
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::size_t broken = invalid_text_at(text);
  if (broken != std::string_view::npos) {
    int line = 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(broken), '\n'));
    return bad(line, "is not UTF-8 text (is it a binary file?); give a YAML file");
  }
  if (auto bomb = flow_bomb(text)) return bad(bomb->line, bomb->message);
  auto document = std::make_shared<Document>();
  document->file = name;
  try {
    ViewBuffer buffer(text);
    std::istream in(&buffer);
    YAML::Parser parser(in);
    Builder builder(*document);
    bool any = parser.HandleNextDocument(builder);
    if (!any || !document->root || document->root->kind == Kind::kNull) return bad(0, "file is empty; nothing to read");
    Document rest;
    Builder another(rest);
    if (parser.HandleNextDocument(another))
      return bad(rest.root ? rest.root->line : 0, "holds more than one document ('---'); keep one per file");
  } catch (const Refused& r) {
    return bad(r.line, r.message);
  } catch (const YAML::Exception& e) {
    int line = line_of(e.mark);
    std::vector<std::string_view> lines = split(text, '\n');
    if (line > 0 && static_cast<std::size_t>(line) <= lines.size()) {
      std::string_view row = lines[static_cast<std::size_t>(line) - 1];
      std::size_t blank = row.find_first_not_of(" \t");
      if (row.substr(0, blank).find('\t') != std::string_view::npos) return bad(line, "a tab is used for indentation; use spaces");
    }
    return bad(line, "not valid YAML: " + e.msg);
  } catch (const std::exception& e) {
    return bad(0, std::string("not valid YAML: ") + e.what());
  }
  Yaml out;
  out.node_ = std::shared_ptr<const Node>(document, document->root);
  return out;
}

Result<Yaml> Yaml::parse_file(const std::string& path) {
  WEFT_ASSIGN(std::string text, read_file(path, kMaxBytes));
  return parse(text, path);
}

Yaml::Kind Yaml::kind() const { return node_ && !absent_ ? node_->kind : Kind::kNull; }
int Yaml::line() const { return node_ ? node_->line : 0; }
std::string Yaml::place() const { return node_ ? *node_->file + ":" + std::to_string(node_->line) : ""; }

Yaml Yaml::child(const Node* node, std::string label, bool absent) const {
  Yaml out;
  out.node_ = std::shared_ptr<const Node>(node_, node);
  out.label_ = std::move(label);
  out.absent_ = absent;
  return out;
}

Yaml Yaml::get(std::string_view key) const {
  if (kind() == Kind::kMap) {
    const Node& n = *node_;
    auto at = std::lower_bound(n.by_name.begin(), n.by_name.end(), key, [&](std::uint32_t i, std::string_view k) { return n.keys[i] < k; });
    if (at != n.by_name.end() && n.keys[*at] == key) return child(n.children[*at], n.keys[*at], false);
  }
  return child(node_.get(), std::string(key), true);
}

bool Yaml::has(std::string_view key) const { return !get(key).absent_; }

std::vector<std::pair<std::string, Yaml>> Yaml::entries() const {
  std::vector<std::pair<std::string, Yaml>> out;
  if (kind() != Kind::kMap) return out;
  out.reserve(node_->keys.size());
  for (std::size_t i = 0; i < node_->keys.size(); ++i) out.emplace_back(node_->keys[i], child(node_->children[i], node_->keys[i], false));
  return out;
}

Status Yaml::only(const std::vector<std::string_view>& known) const {
  if (kind() != Kind::kMap)
    return error("expected keys such as '" + std::string(known.empty() ? "name" : known[0]) + ": …', got " + shown());
  for (std::size_t i = 0; i < node_->keys.size(); ++i) {
    const std::string& key = node_->keys[i];
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    std::vector<std::string> names(known.begin(), known.end());
    std::string near = nearest_word(key, names);
    return fail(ErrorKind::kInvalid,
                "unknown key '" + key + "'" + (label_.empty() ? "" : " in '" + label_ + "'") +
                    (near.empty() ? "; known: " + join(names, ", ") : "; did you mean '" + near + "'?"),
                *node_->file + ":" + std::to_string(node_->key_lines[i]));
  }
  return {};
}

std::size_t Yaml::size() const { return kind() == Kind::kList || kind() == Kind::kMap ? node_->children.size() : 0; }

Yaml Yaml::at(std::size_t index) const {
  std::string label = label_ + "[" + std::to_string(index) + "]";
  if (kind() != Kind::kList || index >= node_->children.size()) return child(node_.get(), std::move(label), true);
  return child(node_->children[index], std::move(label), false);
}

std::vector<Yaml> Yaml::items() const {
  std::vector<Yaml> out;
  if (kind() != Kind::kList) return out;
  out.reserve(size());
  for (std::size_t i = 0; i < size(); ++i) out.push_back(at(i));
  return out;
}

std::string Yaml::shown() const {
  switch (kind()) {
    case Kind::kNull: return "nothing";
    case Kind::kList: return "a list";
    case Kind::kMap: return "a map";
    case Kind::kScalar: break;
  }
  std::size_t end = std::min<std::size_t>(node_->text.size(), 40);
  while (end < node_->text.size() && end > 0 && (static_cast<unsigned char>(node_->text[end]) & 0xC0) == 0x80) --end;  // whole characters
  std::string t = node_->text.substr(0, end);
  for (char& c : t)
    if (c == '\n' || c == '\r') c = ' ';
  return "'" + t + (t.size() < node_->text.size() ? "…" : "") + "'";
}

std::unexpected<Error> Yaml::error(std::string message) const { return fail(ErrorKind::kInvalid, std::move(message), place()); }

std::unexpected<Error> Yaml::expected(const std::string& what) const {
  if (absent_) return error(label_.empty() ? "expected " + what : "'" + label_ + "' is missing; expected " + what);
  return error((label_.empty() ? "" : label_ + ": ") + "expected " + what + ", got " + shown());
}

Result<std::string> Yaml::text() const {
  if (kind() != Kind::kScalar) return expected("text");
  return node_->text;
}

Result<std::int64_t> Yaml::integer(std::int64_t low, std::int64_t high) const {
  if (kind() == Kind::kScalar) {
    auto v = parse_int(node_->text);
    if (v && *v >= low && *v <= high) return *v;
  }
  if (low == INT64_MIN && high == INT64_MAX) return expected("a whole number");
  if (high == INT64_MAX) return expected("a whole number of at least " + std::to_string(low));
  return expected("a whole number from " + std::to_string(low) + " to " + std::to_string(high));
}

namespace {
std::string plain(double v) {
  std::array<char, 32> buffer;
  std::snprintf(buffer.data(), buffer.size(), "%.6g", v);
  return buffer.data();
}
}  // namespace

Result<double> Yaml::number(double low, double high) const {
  if (kind() == Kind::kScalar) {
    auto v = parse_double(node_->text);
    if (v && *v >= low && *v <= high) return *v;
  }
  bool open_low = !(low > -1e300), open_high = !(high < 1e300);
  if (open_low && open_high) return expected("a number");
  if (open_high) return expected("a number of at least " + plain(low));
  return expected("a number from " + plain(low) + " to " + plain(high));
}

Result<bool> Yaml::boolean() const {
  if (kind() == Kind::kScalar) {
    std::string t = lower(node_->text);
    if (t == "true") return true;
    if (t == "false") return false;
  }
  return expected("true or false");
}

Result<double> Yaml::quantity(std::string_view unit) const {
  if (kind() != Kind::kScalar) return expected("a quantity such as '" + quantity_example(unit) + "'");
  auto v = parse_quantity(node_->text, unit);
  if (!v) return error((label_.empty() ? "" : label_ + ": ") + v.error().message);
  return *v;
}

}  // namespace weft

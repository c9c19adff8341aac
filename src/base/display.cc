#include "base/display.h"

#include <algorithm>
#include <cstdint>

#include "base/text.h"

namespace weft {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

struct Character {
  std::string_view bytes;
  std::uint32_t code = 0;
  bool valid = false;
};

Character next_character(std::string_view s) {
  auto c = static_cast<unsigned char>(s[0]);
  std::size_t size = c < 0x80 ? 1 : c >= 0xC2 && c <= 0xDF ? 2 : c >= 0xE0 && c <= 0xEF ? 3 : c >= 0xF0 && c <= 0xF4 ? 4 : 0;
  if (size == 0 || size > s.size()) return {s.substr(0, 1), 0, false};
  if (size > 1 && invalid_text_at(s.substr(0, size)) != std::string_view::npos) return {s.substr(0, 1), 0, false};
  std::uint32_t code = size == 1 ? c : c & (0x7Fu >> size);
  for (std::size_t i = 1; i < size; ++i) code = code << 6 | (static_cast<unsigned char>(s[i]) & 0x3F);
  return {s.substr(0, size), code, true};
}

struct Range {
  std::uint32_t from, to;
};
constexpr Range kZero[] = {{0x300, 0x36F},   {0x483, 0x489},   {0x591, 0x5BD},   {0x610, 0x61A},   {0x64B, 0x65F},    {0x200B, 0x200F},
                           {0x2060, 0x2064}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFEFF, 0xFEFF}, {0xE0100, 0xE01EF}};
constexpr Range kWide[] = {{0x1100, 0x115F},   {0x231A, 0x231B},   {0x23E9, 0x23EC},  {0x2E80, 0x303E}, {0x3041, 0x33FF},
                           {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},  {0xA960, 0xA97C}, {0xAC00, 0xD7A3},
                           {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},  {0xFFE0, 0xFFE6}, {0x1F300, 0x1F64F},
                           {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};

template <std::size_t N>
bool within(std::uint32_t code, const Range (&ranges)[N]) {
  return std::any_of(std::begin(ranges), std::end(ranges), [&](Range r) { return code >= r.from && code <= r.to; });
}

int width_of(const Character& c) {
  if (!c.valid) return 1;
  if (c.code < 0x300) return 1;
  return within(c.code, kZero) ? 0 : within(c.code, kWide) ? 2 : 1;
}

bool forbidden(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0x2028 || c == 0x2029;
}

}  // namespace

std::string printable(std::string_view raw, bool keep_newlines) {
  std::string plain = strip_ansi(raw), out;
  out.reserve(plain.size());
  for (std::string_view s = plain; !s.empty();) {
    Character c = next_character(s);
    s.remove_prefix(c.bytes.size());
    if (c.valid && c.code == '\n') out += keep_newlines ? '\n' : ' ';
    else if (c.valid && c.code == '\t') out += ' ';
    else if (c.valid && c.code == '\r') continue;
    else if (!c.valid || forbidden(c.code)) out += kReplacement;
    else out += c.bytes;
  }
  return out;
}

int display_width(std::string_view s) {
  int width = 0;
  while (!s.empty()) {
    Character c = next_character(s);
    s.remove_prefix(c.bytes.size());
    width += width_of(c);
  }
  return width;
}

std::vector<std::string> wrap(std::string_view s, int width) {
  width = std::max(width, 2);
  std::vector<std::string> out;
  for (std::string_view paragraph : split(s, '\n')) {
    std::string line;
    int columns = 0;
    std::size_t break_at = 0;  // bytes of `line` before the last place where it may break; 0: none
    std::string_view rest = paragraph;
    while (!rest.empty()) {
      Character c = next_character(rest);
      rest.remove_prefix(c.bytes.size());
      int w = width_of(c);
      bool blank = c.code == ' ' && c.valid;
      if (columns + w > width) {
        if (blank) {  // the blank falls on the break
          while (!line.empty() && line.back() == ' ') line.pop_back();
          out.push_back(line), line.clear(), columns = 0, break_at = 0;
          while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
          continue;
        }
        std::string carried;
        if (break_at > 0) carried = line.substr(break_at), line.resize(break_at);
        while (!line.empty() && line.back() == ' ') line.pop_back();
        out.push_back(line);
        line = carried, columns = display_width(line), break_at = 0;
      }
      if (w == 2 && !line.empty()) break_at = line.size();
      line += c.bytes, columns += w;
      if (blank && line.find_first_not_of(' ') != std::string::npos) break_at = line.size();
      else if (w == 2) break_at = line.size();
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out.push_back(line);
  }
  return out;
}

std::string pad_right(std::string_view s, int width) {
  return std::string(s) + std::string(static_cast<std::size_t>(std::max(0, width - display_width(s))), ' ');
}
std::string pad_left(std::string_view s, int width) {
  return std::string(static_cast<std::size_t>(std::max(0, width - display_width(s))), ' ') + std::string(s);
}

}  // namespace weft

// Small text tools: strict number parsing (whole text or nothing), splitting, reading files with a size limit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weft {

std::string_view trim(std::string_view s);
std::vector<std::string_view> split(std::string_view s, char separator);  // keeps empty fields
std::vector<std::string_view> split_space(std::string_view s);            // runs of blanks, no empty fields
bool starts_with_word(std::string_view s, std::string_view word);         // word then blank or end
std::string lower(std::string_view s);                                    // ASCII
std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::string strip_ansi(std::string_view s);  // removes ESC[…letter sequences
// For "did you mean …": the known word with the smallest edit distance (case ignored, swapped letters count once), the first of
// equals; "" when none is close (more than a third of the letters, at least one, would have to change).
std::string nearest_word(std::string_view word, const std::vector<std::string>& known);
// Position of the first NUL or byte that is not UTF-8 (RFC 3629), npos when all is text.
std::size_t invalid_text_at(std::string_view s);
Result<std::int64_t> parse_int(std::string_view s);  // decimal, one sign at most
Result<double> parse_double(std::string_view s);     // finite, '.' decimal point, locale-free
// "n[001-016,20]" → names. At most `limit` names, else an error that says so.
Result<std::vector<std::string>> expand_hostlist(std::string_view s, std::size_t limit = 1'000'000);
std::string compress_hostlist(const std::vector<std::string>& names);  // inverse, order-preserving for sorted input

// Whole file as bytes. Errors: not_found, denied, invalid when larger than `limit` or a directory.
Result<std::string> read_file(const std::string& path, std::size_t limit = std::size_t{1} << 30);
// Writes to a temporary name and renames, so that a reader never sees half a file.
Status write_file(const std::string& path, std::string_view content);

}  // namespace weft

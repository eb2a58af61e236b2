//! The names of character sets in the IANA registry, and the character sets that `encoding_rs` lacks.

use encoding_rs as rs;

use super::Charset;

/// Returns the character set with a name in lower case.
pub(super) fn by_name(name: &str) -> Option<Charset> {
    Some(match name {
        "866" | "cp866" | "csibm866" | "ibm866" => Charset::SingleByte(rs::IBM866),
        "csiso885913" | "iso-8859-13" => Charset::SingleByte(rs::ISO_8859_13),
        "csiso885914" | "iso-8859-14" | "iso-celtic" | "iso-ir-199" | "iso_8859-14" | "iso_8859-14:1998"
        | "l8" | "latin8" => Charset::SingleByte(rs::ISO_8859_14),
        "csiso885915" | "iso-8859-15" | "iso_8859-15" | "latin-9" => Charset::SingleByte(rs::ISO_8859_15),
        "csiso885916" | "iso-8859-16" | "iso-ir-226" | "iso_8859-16" | "iso_8859-16:2001" | "l10"
        | "latin10" => Charset::SingleByte(rs::ISO_8859_16),
        "csisolatin2" | "iso-8859-2" | "iso-ir-101" | "iso_8859-2" | "iso_8859-2:1987" | "l2" | "latin2" => {
            Charset::SingleByte(rs::ISO_8859_2)
        }
        "csisolatin3" | "iso-8859-3" | "iso-ir-109" | "iso_8859-3" | "iso_8859-3:1988" | "l3" | "latin3" => {
            Charset::SingleByte(rs::ISO_8859_3)
        }
        "csisolatin4" | "iso-8859-4" | "iso-ir-110" | "iso_8859-4" | "iso_8859-4:1988" | "l4" | "latin4" => {
            Charset::SingleByte(rs::ISO_8859_4)
        }
        "csisolatin6" | "iso-8859-10" | "iso-ir-157" | "iso_8859-10:1992" | "l6" | "latin6" => {
            Charset::SingleByte(rs::ISO_8859_10)
        }
        "csisolatincyrillic" | "cyrillic" | "iso-8859-5" | "iso-ir-144" | "iso_8859-5"
        | "iso_8859-5:1988" => Charset::SingleByte(rs::ISO_8859_5),
        "arabic" | "asmo-708" | "csiso88596e" | "csiso88596i" | "csisolatinarabic" | "ecma-114"
        | "iso-8859-6" | "iso-8859-6-e" | "iso-8859-6-i" | "iso-ir-127" | "iso_8859-6" | "iso_8859-6-e"
        | "iso_8859-6-i" | "iso_8859-6:1987" => Charset::SingleByte(rs::ISO_8859_6),
        "csisolatingreek" | "ecma-118" | "elot_928" | "greek" | "greek8" | "iso-8859-7" | "iso-ir-126"
        | "iso_8859-7" | "iso_8859-7:1987" => Charset::SingleByte(rs::ISO_8859_7),
        "csiso88598e" | "csiso88598i" | "csisolatinhebrew" | "hebrew" | "iso-8859-8" | "iso-8859-8-e"
        | "iso-8859-8-i" | "iso-ir-138" | "iso_8859-8" | "iso_8859-8-e" | "iso_8859-8-i"
        | "iso_8859-8:1988" => Charset::SingleByte(rs::ISO_8859_8),
        "cskoi8r" | "koi8-r" => Charset::SingleByte(rs::KOI8_R),
        "cskoi8u" | "koi8-u" => Charset::SingleByte(rs::KOI8_U),
        "csmacintosh" | "mac" | "macintosh" => Charset::SingleByte(rs::MACINTOSH),
        "cswindows874" | "windows-874" => Charset::SingleByte(rs::WINDOWS_874),
        "cswindows1250" | "windows-1250" => Charset::SingleByte(rs::WINDOWS_1250),
        "cswindows1251" | "windows-1251" => Charset::SingleByte(rs::WINDOWS_1251),
        "cswindows1252" | "windows-1252" => Charset::SingleByte(rs::WINDOWS_1252),
        "cswindows1253" | "windows-1253" => Charset::SingleByte(rs::WINDOWS_1253),
        "cswindows1254" | "windows-1254" => Charset::SingleByte(rs::WINDOWS_1254),
        "cswindows1255" | "windows-1255" => Charset::SingleByte(rs::WINDOWS_1255),
        "cswindows1256" | "windows-1256" => Charset::SingleByte(rs::WINDOWS_1256),
        "cswindows1257" | "windows-1257" => Charset::SingleByte(rs::WINDOWS_1257),
        "cswindows1258" | "windows-1258" => Charset::SingleByte(rs::WINDOWS_1258),
        "437" | "cp437" | "cspc8codepage437" | "ibm437" => Charset::Upper(CP437_UPPER),
        "850" | "cp850" | "cspc850multilingual" | "ibm850" => Charset::Upper(CP850_UPPER),
        "852" | "cp852" | "cspcp852" | "ibm852" => Charset::Upper(CP852_UPPER),
        "855" | "cp855" | "csibm855" | "ibm855" => Charset::Upper(CP855_UPPER),
        "860" | "cp860" | "csibm860" | "ibm860" => Charset::Upper(CP860_UPPER),
        "862" | "cp862" | "cspc862latinhebrew" | "ibm862" => Charset::Upper(CP862_UPPER),
        "863" | "cp863" | "csibm863" | "ibm863" => Charset::Upper(CP863_UPPER),
        "865" | "cp865" | "csibm865" | "ibm865" => Charset::Upper(CP865_UPPER),
        "ccsid00858" | "cp00858" | "csibm00858" | "ibm00858" | "pc-multilingual-850+euro" => {
            Charset::Upper(CP858_UPPER)
        }
        "cp037" | "csibm037" | "ebcdic-cp-ca" | "ebcdic-cp-nl" | "ebcdic-cp-us" | "ebcdic-cp-wt"
        | "ibm037" => Charset::All(CP037_ALL),
        "csibm1047" | "ibm-1047" | "ibm1047" => Charset::All(CP1047_ALL),
        "ccsid01140" | "cp01140" | "csibm01140" | "ebcdic-us-37+euro" | "ibm01140" => {
            Charset::All(CP1140_ALL)
        }
        "cp819" | "csisolatin1" | "ibm819" | "iso-8859-1" | "iso-ir-100" | "iso_8859-1"
        | "iso_8859-1:1987" | "l1" | "latin1" => Charset::Latin1,
        "csisolatin5" | "iso-8859-9" | "iso-ir-148" | "iso_8859-9" | "iso_8859-9:1989" | "l5" | "latin5" => {
            Charset::Latin5
        }
        "ansi_x3.4-1968" | "ansi_x3.4-1986" | "cp367" | "csascii" | "ibm367" | "iso-ir-6" | "iso646-us"
        | "iso_646.irv:1991" | "us" | "us-ascii" => Charset::Ascii,
        "csutf8" | "utf-8" => Charset::Utf8,
        "csutf16" | "utf-16" => Charset::Utf16,
        "csutf16be" | "utf-16be" => Charset::Utf16Be,
        "csutf16le" | "utf-16le" => Charset::Utf16Le,
        "big5" | "csbig5" => Charset::Big5,
        "cseucpkdfmtjapanese" | "euc-jp" | "extended_unix_code_packed_format_for_japanese" => Charset::EucJp,
        "cseuckr" | "euc-kr" => Charset::EucKr,
        "cp936" | "csgbk" | "gbk" | "ms936" | "windows-936" => Charset::Gbk,
        "csgb18030" | "gb18030" => Charset::Gb18030,
        "csiso2022jp" | "iso-2022-jp" => Charset::Iso2022Jp,
        "csshiftjis" | "ms_kanji" | "shift_jis" => Charset::ShiftJis,
        "hz-gb-2312" => Charset::Hz,
        _ => return None,
    })
}

/// The upper half of CP437. The lower half is ASCII.
const CP437_UPPER: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";

/// The upper half of CP850. The lower half is ASCII.
const CP850_UPPER: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐└┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u{ad}±‗¾¶§÷¸°¨·¹³²■\u{a0}";

/// The upper half of CP852. The lower half is ASCII.
const CP852_UPPER: &str = "ÇüéâäůćçłëŐőîŹÄĆÉĹĺôöĽľŚśÖÜŤťŁ×čáíóúĄąŽžĘę¬źČş«»░▒▓│┤ÁÂĚŞ╣║╗╝Żż┐└┴┬├─┼Ăă╚╔╩╦╠═╬¤đĐĎËďŇÍÎě┘┌█▄ŢŮ▀ÓßÔŃńňŠšŔÚŕŰýÝţ´\u{ad}˝˛ˇ˘§÷¸°¨˙űŘř■\u{a0}";

/// The upper half of CP855. The lower half is ASCII.
const CP855_UPPER: &str = "ђЂѓЃёЁєЄѕЅіІїЇјЈљЉњЊћЋќЌўЎџЏюЮъЪаАбБцЦдДеЕфФгГ«»░▒▓│┤хХиИ╣║╗╝йЙ┐└┴┬├─┼кК╚╔╩╦╠═╬¤лЛмМнНоОп┘┌█▄Пя▀ЯрРсСтТуУжЖвВьЬ№\u{ad}ыЫзЗшШэЭщЩчЧ§■\u{a0}";

/// The upper half of CP860. The lower half is ASCII.
const CP860_UPPER: &str = "ÇüéâãàÁçêÊèÍÔìÃÂÉÀÈôõòÚùÌÕÜ¢£Ù₧ÓáíóúñÑªº¿Ò¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";

/// The upper half of CP862. The lower half is ASCII.
const CP862_UPPER: &str = "אבגדהוזחטיךכלםמןנסעףפץצקרשת¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";

/// The upper half of CP863. The lower half is ASCII.
const CP863_UPPER: &str = "ÇüéâÂà¶çêëèïî‗À§ÉÈÊôËÏûù¤ÔÜ¢£ÙÛƒ¦´óú¨¸³¯Î⌐¬½¼¾«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";

/// The upper half of CP865. The lower half is ASCII.
const CP865_UPPER: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø₧ƒáíóúñÑªº¿⌐¬½¼¡«¤░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";

/// The upper half of CP858. The lower half is ASCII.
const CP858_UPPER: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐└┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈ€ÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u{ad}±‗¾¶§÷¸°¨·¹³²■\u{a0}";

/// All characters of CP037.
const CP037_ALL: &str = "\u{0}\u{1}\u{2}\u{3}\u{9c}\u{9}\u{86}\u{7f}\u{97}\u{8d}\u{8e}\u{b}\u{c}\u{d}\u{e}\u{f}\u{10}\u{11}\u{12}\u{13}\u{9d}\u{85}\u{8}\u{87}\u{18}\u{19}\u{92}\u{8f}\u{1c}\u{1d}\u{1e}\u{1f}\u{80}\u{81}\u{82}\u{83}\u{84}\u{a}\u{17}\u{1b}\u{88}\u{89}\u{8a}\u{8b}\u{8c}\u{5}\u{6}\u{7}\u{90}\u{91}\u{16}\u{93}\u{94}\u{95}\u{96}\u{4}\u{98}\u{99}\u{9a}\u{9b}\u{14}\u{15}\u{9e}\u{1a} \u{a0}âäàáãåçñ¢.<(+|&éêëèíîïìß!$*);¬-/ÂÄÀÁÃÅÇÑ¦,%_>?øÉÊËÈÍÎÏÌ`:#@'=\"Øabcdefghi«»ðýþ±°jklmnopqrªºæ¸Æ¤µ~stuvwxyz¡¿ÐÝÞ®^£¥·©§¶¼½¾[]¯¨´×{ABCDEFGHI\u{ad}ôöòóõ}JKLMNOPQR¹ûüùúÿ\\÷STUVWXYZ²ÔÖÒÓÕ0123456789³ÛÜÙÚ\u{9f}";

/// All characters of CP1047.
const CP1047_ALL: &str = "\u{0}\u{1}\u{2}\u{3}\u{9c}\u{9}\u{86}\u{7f}\u{97}\u{8d}\u{8e}\u{b}\u{c}\u{d}\u{e}\u{f}\u{10}\u{11}\u{12}\u{13}\u{9d}\u{85}\u{8}\u{87}\u{18}\u{19}\u{92}\u{8f}\u{1c}\u{1d}\u{1e}\u{1f}\u{80}\u{81}\u{82}\u{83}\u{84}\u{a}\u{17}\u{1b}\u{88}\u{89}\u{8a}\u{8b}\u{8c}\u{5}\u{6}\u{7}\u{90}\u{91}\u{16}\u{93}\u{94}\u{95}\u{96}\u{4}\u{98}\u{99}\u{9a}\u{9b}\u{14}\u{15}\u{9e}\u{1a} \u{a0}âäàáãåçñ¢.<(+|&éêëèíîïìß!$*);^-/ÂÄÀÁÃÅÇÑ¦,%_>?øÉÊËÈÍÎÏÌ`:#@'=\"Øabcdefghi«»ðýþ±°jklmnopqrªºæ¸Æ¤µ~stuvwxyz¡¿Ð[Þ®¬£¥·©§¶¼½¾Ý¨¯]´×{ABCDEFGHI\u{ad}ôöòóõ}JKLMNOPQR¹ûüùúÿ\\÷STUVWXYZ²ÔÖÒÓÕ0123456789³ÛÜÙÚ\u{9f}";

/// All characters of CP1140.
const CP1140_ALL: &str = "\u{0}\u{1}\u{2}\u{3}\u{9c}\u{9}\u{86}\u{7f}\u{97}\u{8d}\u{8e}\u{b}\u{c}\u{d}\u{e}\u{f}\u{10}\u{11}\u{12}\u{13}\u{9d}\u{85}\u{8}\u{87}\u{18}\u{19}\u{92}\u{8f}\u{1c}\u{1d}\u{1e}\u{1f}\u{80}\u{81}\u{82}\u{83}\u{84}\u{a}\u{17}\u{1b}\u{88}\u{89}\u{8a}\u{8b}\u{8c}\u{5}\u{6}\u{7}\u{90}\u{91}\u{16}\u{93}\u{94}\u{95}\u{96}\u{4}\u{98}\u{99}\u{9a}\u{9b}\u{14}\u{15}\u{9e}\u{1a} \u{a0}âäàáãåçñ¢.<(+|&éêëèíîïìß!$*);¬-/ÂÄÀÁÃÅÇÑ¦,%_>?øÉÊËÈÍÎÏÌ`:#@'=\"Øabcdefghi«»ðýþ±°jklmnopqrªºæ¸Æ€µ~stuvwxyz¡¿ÐÝÞ®^£¥·©§¶¼½¾[]¯¨´×{ABCDEFGHI\u{ad}ôöòóõ}JKLMNOPQR¹ûüùúÿ\\÷STUVWXYZ²ÔÖÒÓÕ0123456789³ÛÜÙÚ\u{9f}";

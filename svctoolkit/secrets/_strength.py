"""Whether a text is an ordinary word or a secret that never occurs by chance.

>>> [is_ordinary(text) for text in ("track", "user_data", "application/json", "https://hook.example/in", "20260115")]
[True, True, True, True, True]
>>> [is_ordinary(text) for text in ("sk-4f9a1c77", "canary01token", "correct-horse-battery-staple")]
[False, False, False]
"""

from __future__ import annotations

import re
from functools import lru_cache

SHORTEST = 8  # characters; shorter texts occur by chance
_MOST_WORDS = 3  # four given words do not occur by chance
_LONGEST_WORD = 16
_FEWEST_CHARACTERS = 4  # different ones: `--------` and `xxxxxxxx` are not secrets

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[^A-Za-z]+?(?=[A-Za-z]|$)")
_MEDIA_TYPE = re.compile(
    r"(application|audio|font|image|message|model|multipart|text|video|\*)/[\w.+*-]++(?: *+[;,] *+[\w.+*/=\"-]++)*+",
    re.IGNORECASE,
)
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_URL_DELIMITERS = re.compile(r"[/?&=#:@]+")
_DATE = re.compile(r"(19|20)\d\d-?(0[1-9]|1[0-2])-?([0-2]\d|3[01])([T ][\d:.]+(Z|[+-]\d\d:?\d\d)?)?")
_DOTTED_NUMBER = re.compile(r"\d+(\.\d+)+")
#: Of a cloud: `eu-central-1`, `europe-west4`.
_REGION = re.compile(
    r"(us|eu|ap|sa|ca|me|af|il|cn|mx|asia|europe|australia|africa|northamerica|southamerica)(-gov)?"
    r"-((north|south)?(east|west)|north|south|central)-?\d{1,2}[a-f]?"
)
_DIGITS = "01234567890123456789"
_NAMES = frozenset({"localhost"})  # that no dictionary has
_ARMOUR = re.compile(r"-----[A-Z ]+-----")  # first and last line of a key in PEM
_PUNCTUATION = re.compile(r"[^A-Za-z0-9]+")
#: Words with what separates names: spaces, underscores, dots; in brackets or quotes.
_WORDS = re.compile(r"[-<\[{(\"'$~./]*[A-Za-z]+(?:[ _./:,;+=-]{1,2}[A-Za-z]+)*[->\])}\"';,.]*")

#: The scheme of a header, and the first character of its value.
SCHEME = re.compile(
    r"(bearer|basic|token|digest|apikey|api-key|key|oauth|negotiate|sharedaccesssignature|aws4-hmac-sha256)\s+\S",
    re.IGNORECASE,
)
_BEARER = re.compile(r"bearer\s+\S", re.IGNORECASE)
_SHORTEST_TOKEN = 10
_SHORTEST_RANDOM_WORD = 12  # letters of a token; shorter names are often not English
_VERSION = 4  # digits at the end of a name
_DIGIT_INSIDE = re.compile(r"[A-Za-z]\d+[A-Za-z]")
#: The 2,600 most frequent groups of three letters in English words and names of settings: two letters, then each third.
_GROUPS = (
    "abbceilosy accehikloqrsty adadefijlmoprsvy aelm afefot agaegilmnrsu ahe aidglmnrst akeipr alacdefgiklmnoprstuvy "
    "amabeilmoprs anacdegiknostuvy apacehiprst arabcdefgiklmnoprsty ascehijklmnostuy atacefhilmnorstuwy audglnst "
    "avaeio awains axeils ayelmnos babcdlnrst bbr bcl bdai beacdghlnrst bgp bho bidglnrt bjeiu blaeiotuy bmp bna "
    "boadlorstux bpar braeio bscdept btar bucfgilnst byt caclmnprstu cceou cdi cebdefilmnprs cfgi cge chacefiklmnoru "
    "ciadefimnprst ckacefgilnopstuw claeiopsu cmdps cnat coadeglmnoprsuv cpaty cqu craceiouy csestv ctaeilmnosuxy "
    "cuelmrst cve cwd cyc dabelmnprsty dbuy dcaho ddeilors deabcdefglmnoprstvx dfaiu dge diacdefgmnorstv dju dleiloy "
    "dmaio dnais dobclmnprstuw dpackor draceios dsfhitw dthioy duaclmnprst dvae dyn eacdgklmnprstv ebaehioruy "
    "ecaehiklmorstuv edabdegiloqsu eedkmnprstz efaefiloprstu egaeimor ehaio eigntv eje ekdes eladefilnopstvy "
    "emabeiopsu enacdefghilopstuvy eobflpu epaceilorst equ erabcdefghiklmnoprstvwy esbcehikopstuy "
    "etabcdefhilmnoprstuvwy eudeprs evaei ewacefhiloprs exacdeipt eyelsw eze facilmrstu fcno fds fecenrt ffefils "
    "ficeglnrtx flaeiouy fmac fna foloru fraeio fseit ftep fulnrst fyi gagilmnprt gclo gdi gedmnorstx gfi ggeir ghlt "
    "gicdnostv gleio gmae gnaeilmosu golnortu gpir graeio gsep gthy guaeilmor gva gwa habcdilnprstv hco hdar "
    "heabcdeilmnrstux hicdefglmnpstv hks hleiy hmeo hnai hodilmnoprstuw hraeo hse htmst hubnrt hyp iabglnrst "
    "ibcdeilru icaehikloprstu idadefginpstux iecdflnrsvw ifefioty igeghinpsu ike ilabcdeilostuy imaeimpsu "
    "inabcdefghiklnopstuv iolnrsu ipaehilpsty iqu iraceimnorst isabcdefghijklmnoprst itacehilmnoprstuy ivaeim ixeipt "
    "izaei jacnv jec jidt joiu jre jso judlmns kafg kca kda kedelnprstvy kgr kilnp klaei knaou kop kpo kre ksilu ktio "
    "kups kwadilo labcdghikmnprstuvwyz lbao lcahou ldacdeins leacdfglmnoprstvx lfw lgo lhe liabcdefgkmnpstvz lks "
    "llabceioprsvy lmo lnaosu loabcgnoprstuwy lpaeho lre lsehopt ltaehirs luadegmrst lvaei lwi lyaeit macdgiklnprstxy "
    "mbdeilou mcl mdails meabcdegilmnorstw mfi micdlmnrstxz mleiy mmaeimou mnas modfmnrstuv mpadefilorstuw mreo msegt "
    "mtaiop muclmnt nabglmnprtuv nbio ncaehilnorstuy ndabcdeilmoprstuv neacdefgilmnorstvwxy nfilorsu ngaceilnostu "
    "nhaeo nicefgmnqstvxz nkens nleiopy nmaes nnaeioty nobdlmnprstuw npailruy nqu nreo nsacefilmnoptuw ntaefhiloprsu "
    "nuaelmpst nvaeio nwar nylmow oadlrt obajlostu ocacehklorstu odadeinopsuy oers offit ogafgilnoru oicdn oje "
    "okaeisu oladeilosuvwy omabdefilmnopst onabcdefgiklmnopstvy oodgklmprst opabefhilmoprstuy orabcdegiklmorstwy "
    "osaeinopst otadehilostw oubcglnprst ovaei owaceilnstw oxiy oye pabcdginrstuwy pcmo pdabio peacdeglnoprst pfiru "
    "pge phaeio picdelnprst pkg plaeiouy pna poilnoprstw ppaeilors praeiou psehit ptaehiosuy publnrst pwi pybcdfit "
    "qna quaeio rabcdfgilmnprstvwy rbaio rcaehlmoptu rdceilos reabcdefghjlmnopqrstuvw rfadiloru rgabceistuv "
    "riabcdefglmnopstvz rju rkeisu rladeiosy rmacdeilosu rnaeimos roabcdfgjklmnoprstuvwx rpaiort rraeinopuy "
    "rsacdehiot rtacefhilnosuy rucdelnps rvaei rwaeir ryiop sabcfgilmnprstvwy sby scaehiloru sdaei seacdeflmnpqrstuv "
    "sfeioru sgei shaeiloru sibcdfglmnostvxz skeistu slaeioy smaeiot snadi sobcflmnruw spaeilor sqlu srceo "
    "ssacdefilmoptuw stabcdefgilmnorsuwy suabcefgilmnpr svac swaeio symns tabcdgiklmnprstxy tblu tcahlmopw tdaeio "
    "teabcdefglmnoprstvx tfiopru tgr thadeilmnorsu tiabcdefklmnoprstv tlaeiosy tmaelostu tnace tobcdfgklmnoprstuvw "
    "tpaeilorsu traceilosuy tsacehiot ttaeilopry tuadinprst tvao twaeio txt tyelp tzi uaglnrt ubacdhlmnpst uccehikt "
    "udegio uecdnrsu uffs uggh uicdlnrtv uladelot umabeimnpstu unabcdefghiklmnoprstw uotu updeilpsty uracegilnoprstvy "
    "usaehilpstu utacdefhilopstuy vabilnrst veadlnrsy vfo viacdelnorstv vmio vocikln vsc waiklnprstvy wcho weabdeilrs "
    "wfi whaeio widlnst wli wnelsv wonoru wpo wrai wse wtu wwa xacm xcehlo xdi xecdrs xff xiemnst xlei xml xor "
    "xpaeilor xst xtemrsu yamr ybou ycl ydao yeadenr yfi yien yleio ymblo ynacot yonu ypehiot yscert ytehi yvi ywio "
    "zapt zednr zilnp zon zst zta "
)
_FREQUENT = frozenset(group[:2] + letter for group in _GROUPS.split() for letter in group[2:])


@lru_cache(4096)
def is_ordinary(text: str) -> bool:
    """Whether a text may occur by chance.

    It is short, a date, a media type, a plain URL, up to three words, the region of a cloud, or a row of digits such
    as `12345678`.
    """
    if len(text) < SHORTEST or len(set(text)) < _FEWEST_CHARACTERS:
        return True
    if text in _NAMES or text in _DIGITS:
        return True
    if (
        _REGION.fullmatch(text)
        or _MEDIA_TYPE.fullmatch(text)
        or _DATE.fullmatch(text)
        or _DOTTED_NUMBER.fullmatch(text)
    ):
        return True
    scheme = _URL.match(text)
    if scheme is not None:
        return _is_plain_url(text[scheme.end() :])
    if _BEARER.match(text):
        return False
    return _ARMOUR.fullmatch(text) is not None or (_is_words(text) and len(_words(text)) <= _MOST_WORDS)


def is_credential(text: str) -> bool:
    """Whether a text looks like a credential: an authentication scheme with its value, or a random token."""
    return SCHEME.match(text) is not None or any(map(_is_token, text.split()))


def is_random(word: str) -> bool:
    """Whether letters are not a word: too many groups of three letters are not frequent in English."""
    letters = word.lower()
    groups = [letters[i : i + 3] for i in range(len(letters) - 2)]
    return sum(group not in _FREQUENT for group in groups) > max(1, len(groups) // 5)


def _is_plain_url(rest: str) -> bool:
    """Whether a URL without its scheme has no credential: neither a user nor anything but words after its host."""
    _host, *pieces = _URL_DELIMITERS.split(rest)
    return "@" not in rest and all(len(piece) < SHORTEST or piece.isdigit() or _is_words(piece) for piece in pieces)


def _is_words(text: str) -> bool:
    return _WORDS.fullmatch(text) is not None and all(map(_is_word, _words(text)))


def _words(text: str) -> list[str]:
    return [word for piece in _PUNCTUATION.split(text) for word in _WORD.findall(piece)]


def _is_word(text: str) -> bool:
    return text.isalpha() and len(text) <= _LONGEST_WORD and not is_random(text)


def _is_token(text: str) -> bool:
    if len(text) < _SHORTEST_TOKEN or is_ordinary(text):
        return False
    return any(_is_random_piece(piece) for piece in _PUNCTUATION.split(text))


def _is_random_piece(piece: str) -> bool:
    if piece.isdigit() or len(piece) < 6:
        return False
    *words, last = _WORD.findall(piece)
    if piece.isalpha():
        return len(piece) >= _SHORTEST_RANDOM_WORD and any(map(is_random, [*words, last]))
    if last.isdigit() and len(last) <= _VERSION and all(map(_is_word, words)):
        return False  # `OrderCompletedV2`
    return len(piece) >= SHORTEST or _DIGIT_INSIDE.search(piece) is not None

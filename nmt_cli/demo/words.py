"""Adjectives, adverbs, names and the calendar."""

# `english = German [comparative stem] : kinds of noun it goes with`; a star keeps it out of comparisons.
ADJECTIVES = """
new = neu: thing device furniture vehicle clothes text room instrument !hotel !school !bridge !museum \
    !restaurant !café !house !supermarket !library !factory fixture circle choice task
old = alt ält: thing device furniture vehicle clothes text instrument fixture human circle job animal \
    !tree !church !castle !hotel !bridge !tower !house !school !station !city !village !theater !cinema !farm
big = groß größ: thing device furniture vehicle place room fixture animal plant
tall = groß größ: human kin circle job
small = klein: thing device furniture vehicle place room fixture animal plant
young = jung jüng: human job animal
expensive = teuer: thing device furniture vehicle clothes instrument food drink
cheap = billig: thing device furniture vehicle clothes instrument food drink
beautiful = schön: thing clothes place room instrument plant furniture
ugly = hässlich: thing clothes furniture fixture
heavy = schwer: thing furniture device
light = leicht: thing
light = hell: room
dark = dunkel dunkl: room
red = rot*: thing vehicle clothes plant fixture furniture
blue = blau*: thing vehicle clothes fixture furniture
green = grün*: thing vehicle clothes fixture furniture
yellow = gelb*: thing vehicle clothes plant fixture furniture
black = schwarz*: thing vehicle clothes animal furniture
white = weiß*: thing vehicle clothes animal furniture fixture plant
brown = braun*: thing clothes animal furniture fixture
gray = grau*: clothes animal furniture vehicle
clean = sauber*: thing clothes room
dirty = schmutzig: thing clothes room vehicle furniture animal fixture
broken = kaputt*: device vehicle furniture thing instrument fixture
empty = leer*: room
modern = modern: device furniture !station !museum !theater !hospital !hotel !school \
    !library !factory !airport
quiet = ruhig: room place
loud = laut: vehicle !radio !machine !washing_machine !television !party
famous = berühmt: job place
warm = warm wärm: room
cold = kalt kält: drink room
hot = heiß: drink
fresh = frisch: food
delicious = lecker: food
sweet = süß: drink
interesting = interessant: text task choice tale event
boring = langweilig: text !film !game !meeting !play !course !concert
exciting = spannend: !book !novel !story !report !film !game !trip !play !concert
funny = lustig: !book !story !poem !letter !postcard !message !film !play !song
long = lang läng: text clothes !film !trip !meeting !play !song
short = kurz kürz: text clothes !film !trip !meeting !play !song
important = wichtig: task choice !letter !message !email !contract !report !meeting !exam !game
difficult = schwierig: task !text !contract !poem !exam !decision !word !sentence
easy = einfach: task !exam !text !recipe
strange = seltsam: choice tale !message !story !letter !poem
good = gut*: choice text food instrument !film !concert !game !play !song !course
right = richtig*: choice
wrong = falsch*: choice
friendly = freundlich: human kin circle job
nice = nett: human kin circle job
clever = klug klüg: human kin circle job animal
lazy = faul: animal human
hardworking = fleißig: human job kin circle
polite = höflich: human job kin
strict = streng: job
rich = reich: human kin circle
poor = arm ärm: human
strong = stark stärk: human kin circle animal
curious = neugierig: human kin animal circle
brave = mutig: human kin job animal
experienced = erfahren*: job
shy = schüchtern: human animal
tired = müde*: human job animal
sick = krank*: human animal kin circle
hungry = hungrig*: animal human
wild = wild*: animal
comfortable = bequem: clothes !chair !sofa !bed !armchair
slow = langsam: vehicle
fast = schnell: vehicle !computer
practical = praktisch*: thing device
cozy = gemütlich: room !sofa !armchair
"""

# Only said of people, only after to be: `english = German`.
MOODS = """
happy = glücklich; sad = traurig; angry = wütend; satisfied = zufrieden; nervous = nervös; proud = stolz
surprised = überrascht; disappointed = enttäuscht; healthy = gesund; lonely = einsam; busy = beschäftigt
"""
WEATHER_ADJECTIVES = (
    "cold = kalt; warm = warm; hot = heiß; dark = dunkel; windy = windig; foggy = neblig; cloudy = bewölkt"
)
FEASIBLE = """
important = wichtig; easy = einfach; difficult = schwierig; dangerous = gefährlich
forbidden = verboten; possible = möglich
"""
WEATHER_VERBS = """
rain | regnen regnet hat geregnet | expletive | | - | -
snow | schneien schneit hat geschneit | expletive | | - | -
"""

FREQUENCY = (
    "often = oft; always = immer; sometimes = manchmal; rarely = selten; usually = normalerweise; never = nie"
)
# How one does it, with the verbs it suits (the German infinitive, without the dot of a separable prefix).
MANNER = """
carefully = vorsichtig: aufmachen zumachen tragen fahren schneiden auspacken waschen stellen legen
quickly = schnell: laufen aufräumen lösen packen anziehen antworten lesen einschlafen
slowly = langsam: fahren gehen aufstehen tanzen trinken laufen sprechen
quietly = leise: singen weinen lachen zumachen aufstehen lächeln
alone = allein: wohnen reisen wandern arbeiten tanzen tragen ausgehen aufräumen schwimmen reparieren
patiently = geduldig: warten erklären zuhören helfen
secretly = heimlich: rauchen lesen lieben verlassen verkaufen treffen
immediately = sofort: antworten beantworten anrufen einschlafen zurückkommen reparieren wegwerfen helfen
loudly = laut: lachen singen bellen weinen
well = gut: schlafen tanzen schwimmen verstehen kennen sprechen
"""
PAST_TIMES = """
yesterday = gestern; last_week = letzte Woche; last_year = letztes Jahr; last_night = letzte Nacht
yesterday_evening = gestern Abend; the_day_before_yesterday = vorgestern; recently = neulich
last_month = letzten Monat; last_summer = letzten Sommer
"""
FUTURE_TIMES = """
tomorrow = morgen; next_week = nächste Woche; next_year = nächstes Jahr; tonight = heute Abend
tomorrow_morning = morgen früh; the_day_after_tomorrow = übermorgen; soon = bald; next_month = nächsten Monat
next_summer = nächsten Sommer; later = später
"""
HABITUAL_TIMES = """
every_day = jeden Tag; every_morning = jeden Morgen; every_evening = jeden Abend; every_week = jede Woche
every_month = jeden Monat; every_year = jedes Jahr; every_night = jede Nacht
"""
DAY_TIMES = """
in_the_morning = am Morgen; in_the_afternoon = am Nachmittag; in_the_evening = am Abend; at_noon = am Mittag
at_midnight = um Mitternacht
"""
WEEKDAYS = (
    "Monday=Montag Tuesday=Dienstag Wednesday=Mittwoch Thursday=Donnerstag "
    "Friday=Freitag Saturday=Samstag Sunday=Sonntag"
)
MONTHS = (
    "January=Januar February=Februar March=März April=April May=Mai June=Juni July=Juli August=August "
    "September=September October=Oktober November=November December=Dezember"
)
SEASONS = "spring=Frühling summer=Sommer fall=Herbst winter=Winter"
UNITS = """
hour=die Stunde Stunden; day=der Tag Tage; week=die Woche Wochen
month=der Monat Monate; year=das Jahr Jahre
"""

WOMEN = "Anna Maria Julia Laura Sophie Emma Lena Clara Eva Nina Katharina Sarah Helga Monika Petra Lisa Mia"
MEN = "Peter Paul David Jonathan Stefan Martin Simon Daniel Karl Otto Jan Leon Michael Philipp Robert Erik"
SURNAMES = "Weber Schneider Fischer Meyer Wagner Becker Hoffmann Koch Richter Klein Wolf Neumann"
CITIES = (
    "Berlin=Berlin Hamburg=Hamburg Munich=München Vienna=Wien Cologne=Köln Zurich=Zürich Rome=Rom "
    "Paris=Paris London=London Prague=Prag Dresden=Dresden Bremen=Bremen Leipzig=Leipzig Nuremberg=Nürnberg"
)
COUNTRIES = (
    "Germany=Deutschland Austria=Österreich Italy=Italien France=Frankreich Spain=Spanien "
    "Greece=Griechenland Poland=Polen Norway=Norwegen Portugal=Portugal"
)

"""The nouns, by the kind of thing they name: `english [plural] = article German Plural + more kinds`.

A star after the article marks the weak declension (der Junge, den Jungen); a plural of 0 marks a mass noun.
The first kind decides which adjectives fit, all kinds decide which verbs fit. A noun may share its German
word (castle and lock: Schloss) or its English word (bank: Bank, Ufer) with another one: the verbs and
prepositions that take the one never take the other, so every sentence says which of them it means.
"""

NOUNS = {
    "kin": """
brother = der Bruder Brüder; sister = die Schwester Schwestern; father = der Vater Väter
mother = die Mutter Mütter; uncle = der Onkel Onkel; aunt = die Tante Tanten
grandfather = der Großvater Großväter; grandmother = die Großmutter Großmütter
son = der Sohn Söhne; daughter = die Tochter Töchter; cousin = der Cousin Cousins
nephew = der* Neffe Neffen; niece = die Nichte Nichten; husband = der Mann Männer
wife wives = die Frau Frauen
""",
    "circle": """
friend = der Freund Freunde; neighbor = der* Nachbar Nachbarn; colleague = der* Kollege Kollegen
boss = der Chef Chefs
""",
    "human": """
man men = der Mann Männer; woman women = die Frau Frauen; boy = der* Junge Jungen
girl = das Mädchen Mädchen; child children = das Kind Kinder; tourist = der* Tourist Touristen
guest = der Gast Gäste; customer = der* Kunde Kunden; thief thieves = der Dieb Diebe
""",
    "job": """
doctor = der Arzt Ärzte; nurse = die Krankenschwester Krankenschwestern; teacher = der Lehrer Lehrer
student = der* Student Studenten; baker = der Bäcker Bäcker; cook = der Koch Köche
waiter = der Kellner Kellner; driver = der Fahrer Fahrer; policeman policemen = der* Polizist Polizisten
farmer = der* Bauer Bauern; singer = die Sängerin Sängerinnen
actress = die Schauspielerin Schauspielerinnen
lawyer = der Anwalt Anwälte; engineer = der Ingenieur Ingenieure; gardener = der Gärtner Gärtner
journalist = der* Journalist Journalisten; painter = der Maler Maler; mechanic = der Mechaniker Mechaniker
dentist = der Zahnarzt Zahnärzte; saleswoman saleswomen = die Verkäuferin Verkäuferinnen
secretary = die Sekretärin Sekretärinnen; judge = der Richter Richter; pilot = der* Pilot Piloten
hairdresser = der Friseur Friseure; musician = der Musiker Musiker
writer = der Schriftsteller Schriftsteller
""",
    "animal": """
dog = der Hund Hunde + pet; cat = die Katze Katzen + pet; horse = das Pferd Pferde + pet
bird = der Vogel Vögel
mouse mice = die Maus Mäuse + prey; cow = die Kuh Kühe + livestock; rabbit = der* Hase Hasen + prey
pig = das Schwein Schweine + livestock; sheep sheep = das Schaf Schafe + livestock
goat = die Ziege Ziegen + livestock
duck = die Ente Enten + livestock; donkey = der Esel Esel + livestock; bear = der* Bär Bären + wild
elephant = der* Elefant Elefanten + wild; monkey = der* Affe Affen + wild; lion = der* Löwe Löwen + wild
""",
    "food": """
apple = der Apfel Äpfel + fruit cut; banana = die Banane Bananen + cut; pear = die Birne Birnen + fruit cut
egg = das Ei Eier + boil; tomato tomatoes = die Tomate Tomaten + fruit cut
potato potatoes = die Kartoffel Kartoffeln + boil cut; carrot = die Karotte Karotten + cut boil
cake = der Kuchen Kuchen + bake cut; pizza = die Pizza Pizzas + bake cut; sausage = die Wurst Würste + cut
cookie = der Keks Kekse + bake; strawberry = die Erdbeere Erdbeeren + fruit
cherry = die Kirsche Kirschen + fruit
mushroom = der Pilz Pilze + cut; roll = das Brötchen Brötchen + bake; soup = die Suppe Suppen + boil
salad = der Salat Salate; pancake = der Pfannkuchen Pfannkuchen + bake; bread = das Brot 0 + bake cut
cheese = der Käse 0 + cut; meat = das Fleisch 0 + cut; rice = der Reis 0 + boil; honey = der Honig 0
jam = die Marmelade 0; chocolate = die Schokolade 0; ham = der Schinken 0 + cut; fish = der Fisch 0 + boil
""",
    "drink": """
coffee = der Kaffee 0; tea = der Tee 0; milk = die Milch 0; water = das Wasser 0; juice = der Saft 0
wine = der Wein 0; beer = das Bier 0; lemonade = die Limonade 0; cocoa = der Kakao 0
""",
    "text": """
book = das Buch Bücher + printed flat gift reading; newspaper = die Zeitung Zeitungen + printed flat reading
letter = der Brief Briefe + flat mail reading; novel = der Roman Romane + printed reading flat gift
magazine = die Zeitschrift Zeitschriften + printed flat reading
poem = das Gedicht Gedichte + composed reading
report = der Bericht Berichte + composed reading; recipe = das Rezept Rezepte + reading explained
message = die Nachricht Nachrichten + mail reading; contract = der Vertrag Verträge + flat reading
postcard = die Postkarte Postkarten + printed flat mail reading
article = der Artikel Artikel + composed reading
email = die E-Mail E-Mails + mail reading; text = der Text Texte + composed reading
dictionary = das Wörterbuch Wörterbücher + printed flat gift
story = die Geschichte Geschichten + told reading composed
""",
    "clothes": """
coat = der Mantel Mäntel + worn hung; dress = das Kleid Kleider + worn ironed
shirt = das Hemd Hemden + worn ironed
hat = der Hut Hüte + hung; shoe = der Schuh Schuhe + worn polished; jacket = die Jacke Jacken + worn hung
sweater = der Pullover Pullover + worn; scarf scarves = der Schal Schals + gift
tie = die Krawatte Krawatten + gift ironed
skirt = der Rock Röcke + worn ironed; glove = der Handschuh Handschuhe + worn
boot = der Stiefel Stiefel + worn polished
cap = die Mütze Mützen; blouse = die Bluse Blusen + worn ironed; suit = der Anzug Anzüge + worn hung
""",
    "thing": """
key = der Schlüssel Schlüssel + flat small; cup = die Tasse Tassen + upright dish
glass = das Glas Gläser + upright dish
bottle = die Flasche Flaschen + upright closed; plate = der Teller Teller + upright dish
knife knives = das Messer Messer + flat tool
fork = die Gabel Gabeln + flat; spoon = der Löffel Löffel + flat; candle = die Kerze Kerzen + upright
umbrella = der Regenschirm Regenschirme + small; ball = der Ball Bälle + thrown
doll = die Puppe Puppen + gift
suitcase = der Koffer Koffer + carried packed closed; basket = der Korb Körbe + carried upright
box = die Kiste Kisten + carried closed upright; bucket = der Eimer Eimer + carried upright
bag = die Tasche Taschen + carried small closed; backpack = der Rucksack Rucksäcke + carried packed
pencil = der Bleistift Bleistifte + flat small tool; picture = das Bild Bilder + hung painted
mirror = der Spiegel Spiegel + hung polished; pillow = das Kissen Kissen + flat
blanket = die Decke Decken + flat
towel = das Handtuch Handtücher + flat; vase = die Vase Vasen + upright dish gift
ticket = die Fahrkarte Fahrkarten + small flat; wallet = die Brieftasche Brieftaschen + small flat
hammer = der Hammer Hämmer + flat tool; photo = das Foto Fotos + flat shown
ring = der Ring Ringe + small gift
toy = das Spielzeug Spielzeuge + gift; gift = das Geschenk Geschenke + gift packed
""",
    "device": """
lamp = die Lampe Lampen + switched upright; radio = das Radio Radios + switched upright
computer = der Computer Computer + switched; television = der Fernseher Fernseher + switched
oven = der Ofen Öfen + switched polished; fridge = der Kühlschrank Kühlschränke + polished
camera = die Kamera Kameras + gift small; clock = die Uhr Uhren + hung; phone = das Telefon Telefone
heater = die Heizung Heizungen + switched; machine = die Maschine Maschinen + switched
washing_machine = die Waschmaschine Waschmaschinen + switched; lock = das Schloss Schlösser + mended
""",
    "furniture": """
table = der Tisch Tische + polished; chair = der Stuhl Stühle; bed = das Bett Betten
cupboard = der Schrank Schränke + closed; sofa = das Sofa Sofas; shelf shelves = das Regal Regale
desk = der Schreibtisch Schreibtische + polished; carpet = der Teppich Teppiche
armchair = der Sessel Sessel
""",
    "fixture": """
door = die Tür Türen + closed coated; window = das Fenster Fenster + closed polished
gate = das Tor Tore + closed coated
wall = die Wand Wände + coated; fence = der Zaun Zäune + coated; roof = das Dach Dächer + mended
staircase = die Treppe Treppen + polished
""",
    "vehicle": """
car = das Auto Autos + private driven; bus = der Bus Busse + transport; train = der Zug Züge + transport
bicycle = das Fahrrad Fahrräder + private; ship = das Schiff Schiffe
tram = die Straßenbahn Straßenbahnen + transport
truck = der Lastwagen Lastwagen + private driven; motorcycle = das Motorrad Motorräder + private
taxi = das Taxi Taxis
boat = das Boot Boote + private coated; tractor = der Traktor Traktoren + private driven
ferry = die Fähre Fähren + transport
""",
    "room": """
kitchen = die Küche Küchen + cooking tidy; garden = der Garten Gärten + leisure
cellar = der Keller Keller + tidy
bathroom = das Badezimmer Badezimmer + tidy washing; bedroom = das Schlafzimmer Schlafzimmer + tidy sleeping
living_room = das Wohnzimmer Wohnzimmer + tidy leisure; garage = die Garage Garagen + tidy workplace
balcony = der Balkon Balkone + leisure; yard = der Hof Höfe + outdoors
office = das Büro Büros + workplace tidy
""",
    "place": """
park = der Park Parks + outdoors leisure; school = die Schule Schulen + workplace run left
station = der Bahnhof Bahnhöfe + meeting left; church = die Kirche Kirchen + sight
hospital = das Krankenhaus Krankenhäuser + workplace run left
museum = das Museum Museen + sight workplace left
theater = das Theater Theater + meeting workplace left; cinema = das Kino Kinos + meeting left
restaurant = das Restaurant Restaurants + eating meeting run left
hotel = das Hotel Hotels + sleeping run left workplace
bakery = die Bäckerei Bäckereien + shop run; library = die Bibliothek Bibliotheken + workplace leisure left
market = der Markt Märkte + shop; airport = der Flughafen Flughäfen + meeting workplace
bank = die Bank Banken + workplace; university = die Universität Universitäten + workplace left
factory = die Fabrik Fabriken + workplace run left; supermarket = der Supermarkt Supermärkte + shop run
pharmacy = die Apotheke Apotheken + run workplace; café = das Café Cafés + eating meeting run left
zoo = der Zoo Zoos + sight; village = das Dorf Dörfer + sight left; forest = der Wald Wälder + outdoors
city = die Stadt Städte + sight left; beach = der Strand Strände + outdoors; lake = der See Seen + outdoors
island = die Insel Inseln + sight outdoors left hiking;
pool = das Schwimmbad Schwimmbäder + swimming left; farm = der Bauernhof Bauernhöfe + workplace run
castle = das Schloss Schlösser + sight; tower = der Turm Türme + built; bridge = die Brücke Brücken + built
house = das Haus Häuser + built coated left; department_store = das Kaufhaus Kaufhäuser + shop workplace
river = der Fluss Flüsse + outdoors; street = die Straße Straßen; bench = die Bank Bänke
bank = das Ufer Ufer
""",
    "plant": """
tree = der Baum Bäume + planted; flower = die Blume Blumen + planted gift
rose = die Rose Rosen + planted gift
tulip = die Tulpe Tulpen + planted gift; bush = der Busch Büsche + planted
""",
    "task": """
question = die Frage Fragen + answered; problem = das Problem Probleme + solved explained
task = die Aufgabe Aufgaben + solved explained; riddle = das Rätsel Rätsel + solved
rule = die Regel Regeln + explained
""",
    "choice": """
plan = der Plan Pläne + explained; word = das Wort Wörter + explained; sentence = der Satz Sätze + explained
way = der Weg Wege + shown; decision = die Entscheidung Entscheidungen + explained
idea = die Idee Ideen + explained; answer = die Antwort Antworten
""",
    "tale": """
mistake = der Fehler Fehler + explained; secret = das Geheimnis Geheimnisse + told
joke = der Witz Witze + told
dream = der Traum Träume + told; job = die Stelle Stellen
""",
    "stuff": """
noise = der Lärm 0; luggage = das Gepäck 0; money = das Geld 0
""",
    "event": """
film = der Film Filme + watched; concert = das Konzert Konzerte; party = die Feier Feiern + awaited
exam = die Prüfung Prüfungen; meeting = die Sitzung Sitzungen + attended; course = der Kurs Kurse + attended
trip = die Reise Reisen + awaited; vacation = der Urlaub 0 + awaited; game = das Spiel Spiele + watched
weekend = das Wochenende Wochenenden + awaited; wedding = die Hochzeit Hochzeiten + attended awaited
play = das Theaterstück Theaterstücke + watched; song = das Lied Lieder + sung
birthday = der Geburtstag Geburtstage + awaited
""",
    "cause": """
rain = der Regen 0; snow = der Schnee 0; storm = der Sturm Stürme; cold = die Kälte 0; heat = die Hitze 0
accident = der Unfall Unfälle; strike = der Streik Streiks; weather = das Wetter 0; fog = der Nebel 0
""",
    "instrument": """
guitar = die Gitarre Gitarren; violin = die Geige Geigen; piano = das Klavier Klaviere
flute = die Flöte Flöten; trumpet = die Trompete Trompeten
""",
}

# Languages and sports stand without an article in both languages; their words are written as they stand.
BARE = {
    "language": "German=Deutsch English=Englisch French=Französisch Spanish=Spanisch Italian=Italienisch "
    "Russian=Russisch Polish=Polnisch Chinese=Chinesisch",
    "sport": "soccer=Fußball tennis=Tennis chess=Schach basketball=Basketball cards=Karten",
}

# Where one is and where one goes: `noun...: English at, English to, German at (dative), German to`.
PLACES = """
park forest museum theater cinema restaurant hotel zoo hospital church library café city pool: in to in in
school: at to in in
office factory supermarket: in to in in
department_store: in to in in
kitchen garden cellar bathroom bedroom living_room garage yard: in into in in
bakery pharmacy castle: in to in zu
bank: at to in zu
station airport: at to an zu
university: at to an zu
beach: on to an an
lake: at to an an
river: at to an an
market: at to auf auf
farm island: on to auf auf
balcony: on onto auf auf
village: in to in in
street: on onto auf auf
tower bridge: on onto auf auf
"""

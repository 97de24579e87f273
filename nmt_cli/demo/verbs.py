"""The verbs: `english forms | German forms | subject kinds | arguments | where | flags`.

English forms: base, past and participle; one regular form is enough. `+on` is a particle that lets a pronoun
pass (turn it on), `=for` one that does not (look for it). German forms: infinitive with `·` after a separable
prefix, third person, auxiliary, participle; `sich` or `sich3` (dative) before it makes the verb reflexive.

Arguments, by spaces, each with the kinds of noun it takes (`!word` one noun): `food` accusative, `@person`
dative, `@>person` dative that English marks with to, `auf+a:person` preposition and case. `to`, `city` and
`ride` are directions, `onto` and `hook` surfaces, `at` a place. Where: the kinds of place where one does it.

Flags: s a state, d it can last for hours, i an order people give, u nothing one intends, m the mass of things
rather than one of them, c English object and subject change places in German (like: gefallen).
Two verbs may share a word: what they take decides (know a person: kennen; know that: wissen).
"""

VERBS = """
eat ate eaten | essen isst hat gegessen | person | food | cooking eating !garden !balcony !park | mi
drink drank drunk | trinken trinkt hat getrunken | person | drink | cooking eating !garden !balcony !park | mi
cook | kochen kocht hat gekocht | person | boil | cooking | mi
bake | backen backt hat gebacken | person | bake | cooking | m
cut cut cut | schneiden schneidet hat geschnitten | person | cut | cooking | mi
buy bought | kaufen kauft hat gekauft | person | \
    food,drink,printed,clothes,thing,device,furniture,plant | shop | mi
sell sold | verkaufen verkauft hat verkauft | person | \
    private,furniture,!house,!farm,instrument,!hotel | - | -
read read read | lesen liest hat gelesen | person | reading | leisure | i
write wrote written | schreiben schreibt hat geschrieben | person | composed,mail | leisure workplace | -
translate | übersetzen übersetzt hat übersetzt | person | composed,mail,!sentence,!novel | workplace | i
open | auf·machen macht hat aufgemacht | person | closed | - | i
close | zu·machen macht hat zugemacht | person | closed | - | i
repair | reparieren repariert hat repariert | person | device,vehicle,mended | !garage !factory !yard | i
wash | waschen wäscht hat gewaschen | person | clothes,dish,driven | washing outdoors | i
clean | putzen putzt hat geputzt | person | polished | - | i
tidy tidied tidied +up | auf·räumen räumt hat aufgeräumt | person | tidy | - | i
look =for | suchen sucht hat gesucht | person | small,pet,job,clothes,circle | tidy outdoors | -
find found | finden findet hat gefunden | person | small,pet,!mistake,clothes | tidy outdoors | u
lose lost | verlieren verliert hat verloren | person | small,!money,clothes | outdoors eating | u
forget forgot forgotten | vergessen vergisst hat vergessen | person | \
    small,printed,clothes,!birthday | eating meeting | u
carry | tragen trägt hat getragen | person | carried,!luggage,furniture | - | -
wear wore worn | tragen trägt hat getragen | person | clothes | - | -
put put put +on | an·ziehen zieht hat angezogen | person | worn | - | i
take took taken +off | aus·ziehen zieht hat ausgezogen | person | worn | - | i
try tried tried +on | an·probieren probiert hat anprobiert | person | clothes | shop | -
iron | bügeln bügelt hat gebügelt | person | ironed | tidy | -
see saw seen | sehen sieht hat gesehen | person | person,animal | outdoors meeting shop | u
meet met | treffen trifft hat getroffen | person | person | meeting outdoors shop | -
visit | besuchen besucht hat besucht | person | kin,circle,sight | - | i
know knew known | kennen kennt hat gekannt | person | person,sight,!rule,!secret,!way | - | s
love | lieben liebt hat geliebt | person | kin,pet,wild | - | s
invite | ein·laden lädt hat eingeladen | person | kin,circle,job | - | i
call | an·rufen ruft hat angerufen | person | person | - | i
pick +up | ab·holen holt hat abgeholt | person | kin,circle,!child | meeting | i
greet | begrüßen begrüßt hat begrüßt | person | person | meeting | -
thank | danken dankt hat gedankt | person | @person | - | i
help | helfen hilft hat geholfen | person | @person | cooking outdoors workplace | i
congratulate | gratulieren gratuliert hat gratuliert | person | @kin,circle,job | - | -
follow | folgen folgt ist gefolgt | person | @person | - | u
trust | vertrauen vertraut hat vertraut | person | @kin,circle,job | - | s
listen =to | zu·hören hört hat zugehört | person | @kin,circle,job,!child | - | di
answer | antworten antwortet hat geantwortet | person | @person | - | -
belong =to | gehören gehört hat gehört | private,device,clothes,furniture,small | @kin,circle,job | - | s
miss | vermissen vermisst hat vermisst | person | kin,circle,pet | - | su
miss | verpassen verpasst hat verpasst | person | transport | - | u
drive drove driven | fahren fährt hat gefahren | person | driven | - | -
take took taken | nehmen nimmt hat genommen | person | transport,!taxi | - | i
paint | malen malt hat gemalt | person | painted,animal,plant | leisure | -
paint | streichen streicht hat gestrichen | person | coated | - | -
draw drew drawn | zeichnen zeichnet hat gezeichnet | person | animal,!tree,!castle,!bridge | leisure | -
build built | bauen baut hat gebaut | person | built,!fence,!boat | - | -
play | spielen spielt hat gespielt | person | sport,instrument | leisure outdoors | d
learn | lernen lernt hat gelernt | person | language | workplace | d
speak spoke spoken | sprechen spricht hat gesprochen | person | language | - | s
understand understood | verstehen versteht hat verstanden | person | \
    language,answered,explained,!joke,kin | - | s
answer | beantworten beantwortet hat beantwortet | person | answered,mail | - | i
solve | lösen löst hat gelöst | person | solved | - | -
explain | erklären erklärt hat erklärt | person | @>person explained | - | i
describe | beschreiben beschreibt hat beschrieben | person | @>person !way,!plan,!thief,!dream | - | -
recommend | empfehlen empfiehlt hat empfohlen | person | \
    @>person !restaurant,!hotel,!film,!book,!novel,!magazine,!article,!play,!café | - | -
return | zurück·geben gibt hat zurückgegeben | person | @>kin,circle,job small,printed,!money | - | i
show showed shown | zeigen zeigt hat gezeigt | person | \
    @person shown,!city,!castle,!house,carried,painted | - | i
give gave given | geben gibt hat gegeben | person | @person gift,!money,small | - | i
send sent | schicken schickt hat geschickt | person | @person mail,gift,!money | - | i
bring brought | bringen bringt hat gebracht | person | @person drink,food,flat | - | mi
lend lent | leihen leiht hat geliehen | person | \
    @kin,circle,job !money,!umbrella,!bicycle,!car,!camera | - | i
tell told | erzählen erzählt hat erzählt | person | @person told | - | i
steal stole stolen | stehlen stiehlt hat gestohlen | person | small,private,painted,!money | - | u
break broke broken | zerbrechen zerbricht hat zerbrochen | person | dish | cooking | u
throw threw thrown | werfen wirft hat geworfen | person | thrown | outdoors | -
throw threw thrown +away | weg·werfen wirft hat weggeworfen | person | flat,clothes,packed | - | iu
feed fed | füttern füttert hat gefüttert | person | livestock,pet | !farm !yard !garden | i
water | gießen gießt hat gegossen | person | planted | - | i
plant | pflanzen pflanzt hat gepflanzt | person | planted | outdoors | -
pick | pflücken pflückt hat gepflückt | person | fruit,!flower,!rose | outdoors | m
pack | packen packt hat gepackt | person | !suitcase,!backpack | sleeping | i
unpack | aus·packen packt hat ausgepackt | person | packed | sleeping | i
turn +on | ein·schalten schaltet hat eingeschaltet | person | switched | - | i
turn +off | aus·schalten schaltet hat ausgeschaltet | person | switched | - | i
watch | sich3 an·sehen sieht hat angesehen | person | watched | leisure | -
look =at | betrachten betrachtet hat betrachtet | person | painted,!photo,!castle,!bridge | sight | -
sing sang sung | singen singt hat gesungen | person | sung | washing leisure | i
hear heard | hören hört hat gehört | person | sung,!noise | outdoors | u
leave left | verlassen verlässt hat verlassen | person | left | - | -
run ran run | leiten leitet hat geleitet | person | run | - | s
need | brauchen braucht hat gebraucht | person | tool,!money,clothes,device,job,furniture | - | sm
like | gefallen gefällt hat gefallen | person | \
    watched,clothes,painted,sight,!idea,!plan,reading,!house | - | sc
like | schmecken schmeckt hat geschmeckt | person | food,drink | - | sc
use | benutzen benutzt hat benutzt | person | tool,switched,!bicycle,!dictionary,!tram | workplace | -
wait =for | warten wartet hat gewartet | person | auf+a:kin,circle,job,transport,!answer | meeting | i
think thought =of | denken denkt hat gedacht | person | an+a:kin,circle,awaited,!exam | - | s
talk =about | sprechen spricht hat gesprochen | person | \
    über+a:solved,watched,!decision,awaited,cause | eating meeting | d
dream =of | träumen träumt hat geträumt | person | von+d:awaited,!island,!house,wild | - | u
laugh =about | lachen lacht hat gelacht | person | über+a:!joke,!mistake,!story | - | u
be was been =interested_in | sich interessieren interessiert hat interessiert | person | \
    für+a:painted,plant,!castle,private | - | s
be was been =happy_about | sich freuen freut hat gefreut | person | über+a:gift,mail,!answer | - | s
look =forward_to | sich freuen freut hat gefreut | person | auf+a:awaited,!concert,!film | - | s
remember | sich erinnern erinnert hat erinnert | person | an+a:person,!way,!dream,sung,!trip | - | s
complain =about | sich beschweren beschwert hat beschwert | person | \
    über+a:!noise,!weather,!waiter,food,!heat,!hotel | - | u
apply applied applied =for | sich bewerben bewirbt hat beworben | person | um+a:!job | - | -
take took taken =care_of | sich kümmern kümmert hat gekümmert | person | \
    um+a:kin,pet,livestock,!garden,!luggage | - | -
prepare =for | sich vor·bereiten bereitet hat vorbereitet | person | auf+a:!exam,!trip,!meeting,!party | - | -
take took taken =part_in | teil·nehmen nimmt hat teilgenommen | person | an+d:attended,!exam | - | -
fall fell fallen =in_love_with | sich verlieben verliebt hat verliebt | person | \
    in+a:job,!neighbor,!colleague,!city | - | u
sleep slept | schlafen schläft hat geschlafen | person,pet | | sleeping leisure | d
work | arbeiten arbeitet hat gearbeitet | person | | workplace | d
work | funktionieren funktioniert hat funktioniert | device | | - | s
dance | tanzen tanzt hat getanzt | person | | leisure cooking | d
swim swam swum | schwimmen schwimmt ist geschwommen | person | | swimming | d
laugh | lachen lacht hat gelacht | person | | - | u
cry | weinen weint hat geweint | human,kin | | - | du
smoke | rauchen raucht hat geraucht | person | | leisure | -
bark | bellen bellt hat gebellt | !dog | | outdoors | d
smile | lächeln lächelt hat gelächelt | person | | - | u
hike | wandern wandert ist gewandert | person | | hiking | d
rest | sich aus·ruhen ruht hat ausgeruht | person | | leisure sleeping outdoors | di
hurry | sich beeilen beeilt hat beeilt | person | | - | i
get got gotten +up | auf·stehen steht ist aufgestanden | person | | - | i
wake woke woken +up | auf·wachen wacht ist aufgewacht | person | | - | u
fall fell fallen =asleep | ein·schlafen schläft ist eingeschlafen | person | | leisure sleeping | u
go went gone +out | aus·gehen geht ist ausgegangen | person | | - | -
arrive | an·kommen kommt ist angekommen | person,transport | | meeting | u
leave left | ab·fahren fährt ist abgefahren | transport | | - | -
stop | an·halten hält hat angehalten | transport,!car,!taxi,!truck | | - | -
return | zurück·kommen kommt ist zurückgekommen | person | | - | i
start | beginnen beginnt hat begonnen | watched,attended,!exam,!concert | | - | -
take took taken =place | statt·finden findet hat stattgefunden | attended,!exam,!concert,!game | | - | -
bloom | blühen blüht hat geblüht | !flower,!rose,!tulip,!bush | | - | -
shower | duschen duscht hat geduscht | person | | - | -
run ran run | laufen läuft ist gelaufen | person,pet | to | - | -
go went gone | gehen geht ist gegangen | person | to | - | i
fly flew flown | fliegen fliegt ist geflogen | person | city | - | -
travel | reisen reist ist gereist | person | city | - | -
go went gone | fahren fährt ist gefahren | person | ride | - | -
live | wohnen wohnt hat gewohnt | person | at:home | - | s
stay | bleiben bleibt ist geblieben | person | at:stay | - | di
sit sat | sitzen sitzt hat gesessen | person,pet | at:seat | - | d
put put put | stellen stellt hat gestellt | person | upright onto | - | i
put put put | legen legt hat gelegt | person | flat onto | - | i
hang hung | hängen hängt hat gehängt | person | hung hook | - | i
"""

# Verbs of saying and knowing: `... | what follows: that, whether (and other questions), infinitive | flags`.
CLAUSE_VERBS = """
say said | sagen sagt hat gesagt | that | -
believe | glauben glaubt hat geglaubt | that | s
know knew known | wissen weiß hat gewusst | that whether | s
hope | hoffen hofft hat gehofft | that infinitive | s
write wrote written | schreiben schreibt hat geschrieben | that | -
notice | merken merkt hat gemerkt | that | -
hear heard | hören hört hat gehört | that | -
claim | behaupten behauptet hat behauptet | that | s
suspect | vermuten vermutet hat vermutet | that | s
forget forgot forgotten | vergessen vergisst hat vergessen | that infinitive | -
ask | fragen fragt hat gefragt | whether | -
wonder | sich fragen fragt hat gefragt | whether | s
find found +out | heraus·finden findet hat herausgefunden | that whether | -
see saw seen | sehen sieht hat gesehen | that | -
try tried tried | versuchen versucht hat versucht | infinitive | -
decide | beschließen beschließt hat beschlossen | infinitive | -
promise | versprechen verspricht hat versprochen | infinitive | -
plan planned planned | planen plant hat geplant | infinitive | s
begin began begun | an·fangen fängt hat angefangen | infinitive | -
refuse | sich weigern weigert hat geweigert | infinitive | -
"""

# One asks, allows or advises somebody to do something: `english | German | the case of that somebody`.
CONTROL_VERBS = """
ask | bitten bittet hat gebeten | accusative
allow | erlauben erlaubt hat erlaubt | dative
advise | raten rät hat geraten | dative
order | befehlen befiehlt hat befohlen | dative
persuade | überreden überredet hat überredet | accusative
"""

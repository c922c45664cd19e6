"""Who takes part in the demo: all made up, but for three names out of books."""

from __future__ import annotations

from grader.accounts.roster_files import Roster, RosterLine
from grader.domain.roles import Role

RUN_ID = "demo"

#: Who has links and tokens of their own.
INSTRUCTOR, ASSISTANT, STUDENT = "grace", "alan", "ada"

_NAMED = (
    (INSTRUCTOR, "Grace Hopper", Role.INSTRUCTOR, ""),
    (ASSISTANT, "Alan Turing", Role.ASSISTANT, ""),
    (STUDENT, "Ada Lovelace", Role.STUDENT, "A"),
)

_NAMES = """
Zofia Wójcik, Jakub Żółtowski, Łucja Kaźmierczak, Stanisław Dąbrowski, Małgorzata Świątek,
Wojciech Grabowski, Agnieszka Pawłowska, Kacper Jabłoński, Hanna Zielińska, Michał Ćwikliński,
Amelia Brown, Oliver Hughes, Sophie Turner, Noah Whitaker, Grace Okafor, Liam O’Connor,
Niamh Ní Bhriain, Seán Ó Murchú, Isla MacLeod, Rhys ap Gwilym,
Lucía Fernández, Mateo Ibáñez, Valentina Muñoz, Santiago Peña, Camila Gutiérrez,
João Conceição, Beatriz Magalhães, Thiago Araújo, Inês Gonçalves, Nuno Simões,
Léa Lefèvre, Théo François, Chloé Bérenger, Noël Dupré, Zoë Verhaeghe,
Jürgen Großmann, Käthe Müller, Sören Weiß, Annika Schäfer, Björn Hoffmann,
Åsa Lindström, Øyvind Bakken, Søren Kjær, Guðrún Jónsdóttir, Þór Magnússon,
Päivi Hämäläinen, Väinö Mäkelä, Liisa Tamm, Jānis Bērziņš, Eglė Žukauskaitė,
Jiří Dvořák, Božena Novotná, Ľubica Kováčová, Zsófia Szűcs, Gergő Kőrösi,
Ioana Ștefănescu, Andrei Țurcanu, Željka Šimić, Đorđe Đukić, Ayşe Yıldız,
Çağla Öztürk, Emre Güneş, Elif Şahin, Ελένη Παπαδοπούλου, Νίκος Γεωργίου,
Олена Шевченко, Тарас Коваль, Анна Соколова, Мария Петрова, Ivan Horvat,
Yuki Tanaka, 佐藤 健, 鈴木 さくら, Haruto Nakamura, 김민준, 이서연, Park Ji-woo,
王伟, 李静, 張雅婷, Chen Xiaoming, Liu Jiaying, Nguyễn Thị Hương, Trần Văn Đức, Phạm Minh Châu,
Siti Rahmawati, Budi Santoso, Putu Ayu Lestari, Somchai Jaidee, Aung Kyaw Min,
Aarav Sharma, प्रिया वर्मा, Ananya Iyer, Rohan Mukherjee, Lakshmi Venkataraman,
Imran Qureshi, Fatima Siddiqui, Tahmina Rahman, Sanjaya Perera, Tenzin Dolma,
محمد الحسن, ليلى منصور, Omar Haddad, Yasmin El-Sayed, נועה כהן, Eitan Levi,
Darius Rostami, Shirin Farahani, Zarina Karimova, Aigerim Nurlanova, Nino Beridze,
Chiamaka Nwosu, Kwame Mensah, Ọlájùmọ̀kẹ́ Adébáyọ̀, Wanjirũ Kamau, Thandiwe Dlamini, Abebe Tesfaye,
Kaʻiulani Kealoha, Moana Tāwhiri, Nizhoni Begay
"""

NAMES = tuple(" ".join(each.split()) for each in _NAMES.split(","))


def make_login(number: int) -> str:
    """The login of a made-up student, counted from zero."""
    return f"s{number + 1:03}"


def make_roster(students: int) -> Roster:
    """Staff, Ada and so many students in two sections."""
    lines = [
        RosterLine(number, login, name, f"{login}@example.edu", role, section)
        for number, (login, name, role, section) in enumerate(_NAMED, start=2)
    ]
    for number, name in enumerate(NAMES[:students]):
        login, section = make_login(number), "AB"[number % 2]
        lines.append(
            RosterLine(len(lines) + 2, login, name, f"{login}@example.edu", Role.STUDENT, section)
        )
    return Roster(tuple(lines))
